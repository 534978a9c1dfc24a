#include "runtime/control_kernel.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "device/streams.h"
#include "ops/loop_driver.h"
#include "ops/structure.h"
#include "plan/bodies.h"
#include "plan/memory_planner.h"
#include "runtime/program.h"

namespace tenon {

Result<int64_t> read_back(Device& device, const Node& node, DataType type, const void* address,
                          Queue queue) {
  if (Streams* streams = device.streams(); streams != nullptr) {
    TENON_ASSIGN(const bool capturing, streams->is_capturing(queue.stream));
    if (capturing)
      return user_error(
          "'{}' has data-dependent control flow and cannot be captured in a CUDA graph: enqueue "
          "outside of the capture",
          node.name);
  }
  int64_t value = 0;
  TENON_TRY(device.download(&value, address, static_cast<size_t>(byte_size(type)), queue));
  TENON_TRY(device.synchronize(queue));
  return value;
}

namespace {

/// Numbers of iterations that lie ready on the device; those beyond are copied one at a time.
constexpr int64_t kMostNumbers = int64_t{1} << 20, kNumbersOfUnknown = 1024;
/// In the workspace behind the states: the condition, and the number of an iteration.
constexpr size_t kNumberBytes = 512;

size_t aligned(size_t bytes) {
  return round_up(bytes, kBufferAlignment);
}

size_t bytes_of(const ConcreteGraph& graph, const Value* value) {
  return static_cast<size_t>(element_count(graph.extents(value)) * byte_size(value->type.type));
}

std::byte* at(void* memory, size_t offset) {
  return static_cast<std::byte*>(memory) + offset;
}

const void* at(const void* memory, size_t offset) {
  return static_cast<const std::byte*>(memory) + offset;
}

Result<std::unique_ptr<Program>> make_program(const Backend& backend, ConstantStore& constants,
                                              const ConcreteGraph& graph, const Node& node,
                                              int body, int threads) {
  TENON_ASSIGN(ConcreteGraph inside, concrete_body(graph, node, body));
  if (!fully_resolved(inside))
    return unsupported("the shapes inside of '{}' are data-dependent", node.name);
  return Program::create(backend, constants, std::move(inside), threads);
}

/// The one element that is known of an operand.
std::optional<int64_t> known_element(const ConcreteGraph& graph, const Node& node, int input) {
  const Tensor* tensor = graph.known(node.input(input));
  if (tensor == nullptr || !tensor->defined() || tensor->count() != 1) return std::nullopt;
  return tensor->as_int64(0);
}

class BranchKernel final : public ControlKernel {
 public:
  BranchKernel(const Backend& backend, const Node& node) : backend_(backend), node_(node) {}

  Status prepare(ConstantStore& constants, const ConcreteGraph& graph, int threads) {
    if (const auto known = known_element(graph, node_, 0)) taken_ = *known != 0 ? 0 : 1;
    for (int body = 0; body < 2; ++body) {
      if (taken_.value_or(body) != body) continue;
      auto made = make_program(backend_, constants, graph, node_, body, threads);
      if (made.ok())
        bodies_[body] = std::move(made).value();
      else
        TENON_TRY(refuse(made.error()));
    }
    return {};
  }

  Status run_in(const LaunchArguments& arguments, std::span<void*> scratch) const override {
    int taken = taken_.value_or(0);
    if (!taken_.has_value()) {
      TENON_ASSIGN(const int64_t condition, read_back(*backend_.device, node_, DataType::kBool,
                                                      arguments.inputs[0], arguments.queue));
      taken = condition != 0 ? 0 : 1;
    }
    if (bodies_[taken] == nullptr) return *refused_;
    const auto given = arguments.inputs.subspan(1);
    const std::span<void*> inputs = scratch.first(given.size());
    for (size_t i = 0; i < given.size(); ++i) inputs[i] = const_cast<void*>(given[i]);
    return bodies_[taken]->run_in(backend_, inputs, arguments.outputs, arguments.workspace,
                                  arguments.queue, scratch.subspan(given.size()));
  }

  size_t scratch_count() const override {
    size_t count = 0;
    for (const auto& body : bodies_)
      if (body != nullptr) count = std::max(count, body->scratch_count());
    return node_.inputs().size() - 1 + count;
  }
  std::vector<StepList> bodies() const override {
    std::vector<StepList> lists(2);
    for (int i = 0; i < 2; ++i)
      if (bodies_[i] != nullptr) lists[i] = bodies_[i]->list();
    return lists;
  }

  size_t workspace_bytes() const override {
    size_t bytes = 0;
    for (const auto& body : bodies_)
      if (body != nullptr) bytes = std::max(bytes, body->arena_bytes());
    return bytes;
  }
  bool uses_input(int index) const override { return index != 0 || !taken_.has_value(); }

 private:
  /// One of two branches may not fit the extents: an error when it is taken.
  Status refuse(const Error& error) {
    if (taken_.has_value() || refused_.has_value() || error.kind != ErrorKind::kUser) return error;
    refused_ = error;
    return {};
  }

  Backend backend_;
  const Node& node_;
  std::optional<int> taken_;  ///< The branch, where it is known.
  std::unique_ptr<Program> bodies_[2];
  std::optional<Error> refused_;  ///< Of the branch that has no program.
};

/// Loops and scans. States alternate between two places in the workspace; the first iteration reads
/// the node's operands, and the last one, where it is known to be, writes the node's results.
class RecurrenceKernel final : public ControlKernel {
 public:
  RecurrenceKernel(const Backend& backend, const Node& node)
      : backend_(backend), node_(node), at_(node) {}

  Status prepare(ConstantStore& constants, const ConcreteGraph& graph, int threads) {
    for (int i = 0; i < at_.scanned; ++i)
      if (at_.input_axis(node_, i) != 0) return unsupported("a scan along another axis");
    for (int i = 0; i < at_.stacked; ++i)
      if (at_.output_axis(node_, i) != 0) return unsupported("a scan along another axis");
    TENON_ASSIGN(body_, make_program(backend_, constants, graph, node_, 0, threads));
    TENON_TRY(count_trips(graph));
    const Graph& body = body_->graph().graph();
    for (int i = 0; i < at_.states; ++i) {
      states_.push_back(bytes_of(body_->graph(), body.inputs()[at_.first + i]));
      state_offsets_.push_back(state_end_);
      state_end_ += 2 * aligned(states_.back());
    }
    for (int i = 0; i < at_.scanned; ++i)
      scanned_.push_back(bytes_of(body_->graph(), body.inputs()[at_.first + at_.states + i]));
    for (int i = 0; i < at_.stacked; ++i)
      stacked_.push_back(bytes_of(body_->graph(), body.outputs()[at_.results + at_.states + i]));
    if (at_.first == 0) return {};
    std::vector<int64_t> numbers(static_cast<size_t>(
        std::clamp<int64_t>(trips_.value_or(kNumbersOfUnknown), 1, kMostNumbers)));
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
    number_count_ = static_cast<int64_t>(numbers.size());
    TENON_ASSIGN(numbers_, constants.upload(numbers.data(), numbers.size() * sizeof(int64_t)));
    const bool yes = true;
    TENON_ASSIGN(yes_, constants.upload(&yes, 1));
    return {};
  }

  Status run_in(const LaunchArguments& arguments, std::span<void*> scratch) const override {
    TENON_ASSIGN(const LoopLimits limits, read_limits(arguments));
    Frame frame(*this, arguments, scratch);
    const int64_t most = limits.most();
    const auto iterate = [&](int64_t trip) -> Result<bool> {
      TENON_TRY(frame.bind(trip, most));
      TENON_TRY(body_->run_in(backend_, frame.inputs, frame.outputs, frame.arena, arguments.queue,
                              frame.inner));
      if (!asks_) return true;
      TENON_ASSIGN(const int64_t condition, read_back(*backend_.device, node_, DataType::kBool,
                                                      frame.condition, arguments.queue));
      return condition != 0;
    };
    TENON_ASSIGN(const int64_t trips, run_loop(node_, limits, iterate));
    return frame.finish(trips);
  }

  size_t scratch_count() const override {
    return node_.inputs().size() + output_count() + body_->scratch_count();
  }
  std::vector<StepList> bodies() const override { return {body_->list()}; }
  size_t workspace_bytes() const override { return arena_offset() + body_->arena_bytes(); }
  bool uses_input(int index) const override {
    if (index >= at_.first) return true;
    return !trips_.has_value() && !(index == 0 ? counted_ : starts_).has_value();
  }

 private:
  /// Addresses of one run.
  struct Frame {
    Frame(const RecurrenceKernel& kernel, const LaunchArguments& arguments,
          std::span<void*> scratch)
        : kernel(kernel),
          given(arguments),
          inputs(scratch.first(arguments.inputs.size())),
          outputs(scratch.subspan(inputs.size(), kernel.output_count())),
          inner(scratch.subspan(inputs.size() + outputs.size())) {
      for (size_t i = 0; i < inputs.size(); ++i) inputs[i] = const_cast<void*>(arguments.inputs[i]);
      const size_t numbers = kernel.arena_offset() - kNumberBytes;
      condition = at(arguments.workspace, numbers);
      number = at(arguments.workspace, numbers + kNumberBytes / 2);
      arena = at(arguments.workspace, kernel.arena_offset());
      if (kernel.at_.results > 0) outputs[0] = condition;
    }

    /// Of the state's two places in the workspace.
    void* place(int state, int64_t trip) const {
      const size_t size = aligned(kernel.states_[state]);
      return at(given.workspace, kernel.state_offsets_[state] + (trip % 2 != 0 ? size : 0));
    }

    /// Before iteration `trip`.
    Status bind(int64_t trip, int64_t trips) {
      const Recurrence& where = kernel.at_;
      const bool last = trip + 1 == trips && !kernel.asks_;
      for (int i = 0; i < where.states; ++i) {
        if (trip > 0) inputs[where.first + i] = outputs[where.results + i];
        outputs[where.results + i] = last ? given.outputs[i] : place(i, trip);
      }
      for (int i = 0; i < where.scanned; ++i) {
        const int64_t slice = slice_of(trip, trips, where.input_backward(kernel.node_, i));
        const int input = where.first + where.states + i;
        inputs[input] = const_cast<void*>(
            at(given.inputs[input], static_cast<size_t>(slice) * kernel.scanned_[i]));
      }
      for (int i = 0; i < where.stacked; ++i) {
        const int64_t slice = slice_of(trip, trips, where.output_backward(kernel.node_, i));
        outputs[where.results + where.states + i] =
            at(given.outputs[where.states + i], static_cast<size_t>(slice) * kernel.stacked_[i]);
      }
      return where.first > 0 ? bind_number(trip) : Status();
    }

    Status bind_number(int64_t trip) {
      inputs[1] = kernel.yes_.get();
      inputs[0] = at(kernel.numbers_.get(), static_cast<size_t>(trip) * sizeof(int64_t));
      if (trip < kernel.number_count_) return {};
      inputs[0] = number;
      Device& device = *kernel.backend_.device;
      TENON_TRY(device.upload(number, &trip, sizeof trip, given.queue));
      return device.synchronize(given.queue);
    }

    /// States that no iteration put into their place.
    Status finish(int64_t trips) {
      const Recurrence& where = kernel.at_;
      for (int i = 0; i < where.states; ++i) {
        const void* from = trips == 0 ? given.inputs[where.first + i] : outputs[where.results + i];
        if (from == given.outputs[i]) continue;
        TENON_TRY(
            kernel.backend_.device->copy(given.outputs[i], from, kernel.states_[i], given.queue));
      }
      return {};
    }

    const RecurrenceKernel& kernel;
    const LaunchArguments& given;
    std::span<void*> inputs, outputs, inner;  ///< The last are the body's.
    void *condition = nullptr, *number = nullptr, *arena = nullptr;
  };

  size_t output_count() const {
    return static_cast<size_t>(at_.results + at_.states) + stacked_.size();
  }
  size_t arena_offset() const { return state_end_ + kNumberBytes; }

  Status count_trips(const ConcreteGraph& graph) {
    if (node_.is<Scan>()) {
      trips_ = graph.extents(node_.input(at_.states))[0];
      return {};
    }
    asks_ = !always_goes_on(node_);
    starts_ = node_.has_input(1) ? known_element(graph, node_, 1) : 1;
    counted_ = node_.has_input(0) ? known_element(graph, node_, 0) : INT64_MAX;
    if (counted_.has_value()) counted_ = std::max<int64_t>(*counted_, 0);
    if (starts_ == 0) trips_ = 0;
    if (starts_.value_or(0) != 0) trips_ = counted_;
    if (trips_.has_value() || at_.stacked == 0) return {};
    return unsupported("the number of iterations of '{}' is data-dependent", node_.name);
  }

  /// Reads limits that are computed tensors from the device.
  Result<LoopLimits> read_limits(const LaunchArguments& arguments) const {
    if (trips_.has_value()) return LoopLimits{.trips = *trips_};
    Device& device = *backend_.device;
    LoopLimits limits{counted_.value_or(0), starts_.value_or(1) != 0};
    if (!starts_.has_value()) {
      TENON_ASSIGN(const int64_t first,
                   read_back(device, node_, DataType::kBool, arguments.inputs[1], arguments.queue));
      limits.starts = first != 0;
    }
    if (counted_.has_value() || !limits.starts) return limits;
    TENON_ASSIGN(limits.trips,
                 read_back(device, node_, DataType::kInt64, arguments.inputs[0], arguments.queue));
    return limits;
  }

  Backend backend_;
  const Node& node_;
  Recurrence at_;
  std::unique_ptr<Program> body_;
  std::optional<int64_t> trips_;             ///< The most iterations, where known before the run.
  std::optional<int64_t> starts_, counted_;  ///< The known operands of a loop.
  bool asks_ = false;  ///< The body decides whether another iteration follows.
  std::vector<size_t> states_, scanned_, stacked_;  ///< Bytes of each, of slices where there are.
  std::vector<size_t> state_offsets_;  ///< In the workspace, of the first of two places each.
  size_t state_end_ = 0;
  DeviceBuffer numbers_, yes_;
  int64_t number_count_ = 0;
};

template <class T>
Result<std::unique_ptr<ControlKernel>> prepared(const Backend& backend, ConstantStore& constants,
                                                const ConcreteGraph& graph, const Node& node,
                                                int threads) {
  auto kernel = std::make_unique<T>(backend, node);
  TENON_TRY(kernel->prepare(constants, graph, threads));
  return std::unique_ptr<ControlKernel>(std::move(kernel));
}

}  // namespace

Result<std::unique_ptr<ControlKernel>> make_control_kernel(const Backend& backend,
                                                           ConstantStore& constants,
                                                           const ConcreteGraph& graph,
                                                           const Node& node, int threads) {
  const auto plain = [&](const Value* value) { return lies_plain(graph.operand(value)); };
  if (!std::ranges::all_of(node.inputs(), plain) || !std::ranges::all_of(node.outputs(), plain))
    return unsupported("operands of '{}' do not lie in one piece", node.name);
  return node.is<If>() ? prepared<BranchKernel>(backend, constants, graph, node, threads)
                       : prepared<RecurrenceKernel>(backend, constants, graph, node, threads);
}

}  // namespace tenon
