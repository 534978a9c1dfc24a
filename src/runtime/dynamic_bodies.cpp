#include "runtime/dynamic_bodies.h"

#include <algorithm>

#include "ops/control_flow.h"
#include "ops/loop_driver.h"
#include "ops/structure.h"
#include "runtime/control_kernel.h"

namespace tenon {
namespace {

Status bind_extents(const Value& input, const Extents& extents, SymbolValues& symbols) {
  const Shape& shape = input.type.shape;
  if (shape.size() != extents.size())
    return internal_error("'{}' of a body has {} axes, {} are given", input.name, shape.size(),
                          extents.size());
  for (size_t i = 0; i < shape.size(); ++i) {
    if (const auto symbol = shape[i].as_symbol()) symbols.try_emplace(*symbol, extents[i]);
    if (shape[i].evaluate(symbols) != extents[i])
      return internal_error("'{}' of a body has other extents than inferred", input.name);
  }
  return {};
}

/// One run of a body; its results own their memory.
Result<std::vector<DynamicOutput>> run_body(const BodyRun& run, const Graph& body,
                                            std::span<const BodyOperand> operands) {
  SymbolValues symbols = run.symbols;
  std::vector<void*> inputs;
  for (size_t i = 0; i < operands.size(); ++i) {
    inputs.push_back(const_cast<void*>(operands[i].bytes));
    if (operands[i].present)
      TENON_TRY(bind_extents(*body.inputs()[i], operands[i].extents, symbols));
  }
  TENON_ASSIGN(
      std::vector<DynamicOutput> results,
      run.runner(body).run(run.constants, symbols, inputs, run.queue, run.threads, nullptr));
  for (size_t i = 0; i < results.size(); ++i) {
    DynamicOutput& result = results[i];
    if (result.buffer != nullptr && result.bytes == result.buffer.get()) continue;
    const auto bytes = static_cast<size_t>(element_count(result.extents) *
                                           byte_size(body.outputs()[i]->type.type));
    TENON_ASSIGN(DeviceBuffer copy, run.memory(bytes));
    TENON_TRY(run.device.copy(copy.get(), result.bytes, bytes, run.queue));
    // The source of the copy may go now.
    TENON_TRY(run.device.synchronize(run.queue));
    result.bytes = copy.get();
    result.buffer = std::move(copy);
  }
  return results;
}

/// The iterations of a loop or scan.
class Iterations {
 public:
  Iterations(const BodyRun& run, const Node& node, std::span<const BodyOperand> operands)
      : run_(run),
        node_(node),
        at_(node),
        body_(*node.bodies[0]),
        given_(operands),
        inputs_(operands.begin(), operands.end()),
        stacked_(static_cast<size_t>(at_.stacked)) {}

  Result<std::vector<DynamicOutput>> all() {
    TENON_TRY(begin());
    const auto ran = run_loop(node_, limits_, [this](int64_t trip) { return iterate(trip); });
    if (!ran.ok()) return ran.error();
    return results();
  }

 private:
  Status begin() {
    for (int i = 0; i < at_.scanned; ++i)
      if (at_.input_axis(node_, i) != 0) return unsupported("a scan along another axis");
    for (int i = 0; i < at_.stacked; ++i)
      if (at_.output_axis(node_, i) != 0) return unsupported("a scan along another axis");
    if (at_.first == 0) {
      limits_.trips = given_[at_.states].extents[0];
      for (int i = 1; i < at_.scanned; ++i)
        if (given_[at_.states + i].extents[0] != limits_.trips)
          return user_error("the scanned inputs of '{}' differ in length", node_.name);
      return {};
    }
    asks_ = !always_goes_on(node_);
    if (node_.has_input(0)) {
      TENON_ASSIGN(limits_.trips,
                   read_back(run_.device, node_, DataType::kInt64, given_[0].bytes, run_.queue));
    }
    if (node_.has_input(1)) {
      TENON_ASSIGN(const int64_t starts,
                   read_back(run_.device, node_, DataType::kBool, given_[1].bytes, run_.queue));
      limits_.starts = starts != 0;
    }
    TENON_ASSIGN(number_, run_.memory(sizeof(int64_t)));
    const bool yes = true;
    TENON_ASSIGN(yes_, run_.constants.upload(&yes, 1, run_.queue));
    inputs_[0] = {true, number_.get(), {}};
    inputs_[1] = {true, yes_.get(), {}};
    return {};
  }

  /// Whether another one follows.
  Result<bool> iterate(int64_t trip) {
    if (at_.first > 0) TENON_TRY(run_.device.upload(number_.get(), &trip, sizeof trip, run_.queue));
    for (int i = 0; i < at_.scanned; ++i) take_slice(i, trip);
    TENON_ASSIGN(std::vector<DynamicOutput> results, run_body(run_, body_, inputs_));
    bool going = true;
    if (asks_) {
      TENON_ASSIGN(const int64_t condition,
                   read_back(run_.device, node_, DataType::kBool, results[0].bytes, run_.queue));
      going = condition != 0;
    }
    states_.clear();
    for (int i = 0; i < at_.states; ++i) {
      DynamicOutput& state = states_.emplace_back(std::move(results[at_.results + i]));
      inputs_[at_.first + i] = {true, state.bytes, state.extents};
    }
    for (int i = 0; i < at_.stacked; ++i)
      stacked_[i].push_back(std::move(results[at_.results + at_.states + i]));
    return going;
  }

  void take_slice(int index, int64_t trip) {
    const int at = at_.states + index;
    BodyOperand& slice = inputs_[at];
    slice = given_[at];
    slice.extents.erase(slice.extents.begin());
    const int64_t bytes = element_count(slice.extents) * byte_size(node_.input(at)->type.type);
    const int64_t place = slice_of(trip, limits_.trips, at_.input_backward(node_, index));
    slice.bytes = static_cast<const std::byte*>(slice.bytes) + place * bytes;
  }

  Result<std::vector<DynamicOutput>> results() {
    std::vector<DynamicOutput> results = std::move(states_);
    for (int i = static_cast<int>(results.size()); i < at_.states; ++i) {
      TENON_ASSIGN(DynamicOutput state, copied(given_[at_.first + i], *node_.outputs()[i]));
      results.push_back(std::move(state));
    }
    for (int i = 0; i < at_.stacked; ++i) {
      TENON_ASSIGN(DynamicOutput whole, stack(i));
      results.push_back(std::move(whole));
    }
    TENON_TRY(run_.device.synchronize(run_.queue));
    return results;
  }

  Result<DynamicOutput> copied(const BodyOperand& from, const Value& to) {
    DynamicOutput output{from.extents, nullptr, nullptr};
    const auto bytes = static_cast<size_t>(element_count(from.extents) * byte_size(to.type.type));
    TENON_ASSIGN(output.buffer, run_.memory(bytes));
    output.bytes = output.buffer.get();
    TENON_TRY(run_.device.copy(output.buffer.get(), from.bytes, bytes, run_.queue));
    return output;
  }

  Result<DynamicOutput> stack(int index) {
    std::vector<DynamicOutput>& slices = stacked_[index];
    const TensorType& type = body_.outputs()[at_.results + at_.states + index]->type;
    DynamicOutput whole;
    if (slices.empty())
      for (const Dim& extent : type.shape)
        whole.extents.push_back(extent.evaluate(run_.symbols).value_or(0));
    else
      whole.extents = slices[0].extents;
    for (const DynamicOutput& slice : slices)
      if (slice.extents != whole.extents)
        return user_error("the slices that '{}' stacks differ in shape", node_.name);
    const auto bytes = static_cast<size_t>(element_count(whole.extents) * byte_size(type.type));
    whole.extents.insert(whole.extents.begin(), static_cast<int64_t>(slices.size()));
    TENON_ASSIGN(whole.buffer, run_.memory(bytes * slices.size()));
    whole.bytes = whole.buffer.get();
    if (at_.output_backward(node_, index)) std::reverse(slices.begin(), slices.end());
    for (size_t i = 0; i < slices.size() && bytes > 0; ++i)
      TENON_TRY(run_.device.copy(static_cast<std::byte*>(whole.buffer.get()) + i * bytes,
                                 slices[i].bytes, bytes, run_.queue));
    return whole;
  }

  const BodyRun& run_;
  const Node& node_;
  Recurrence at_;
  const Graph& body_;
  std::span<const BodyOperand> given_;
  std::vector<BodyOperand> inputs_;
  std::vector<DynamicOutput> states_;
  std::vector<std::vector<DynamicOutput>> stacked_;
  DeviceBuffer number_, yes_;
  LoopLimits limits_;
  bool asks_ = false;
};

}  // namespace

Result<std::vector<DynamicOutput>> run_bodies(const BodyRun& run, const Node& node,
                                              std::span<const BodyOperand> operands) {
  if (!node.is<If>()) return Iterations(run, node, operands).all();
  TENON_ASSIGN(const int64_t condition,
               read_back(run.device, node, DataType::kBool, operands[0].bytes, run.queue));
  return run_body(run, *node.bodies[condition != 0 ? 0 : 1], operands.subspan(1));
}

}  // namespace tenon
