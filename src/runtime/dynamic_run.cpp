#include "runtime/dynamic_run.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "ir/value_name.h"
#include "kernels/plugin/sized.h"
#include "ops/control_flow.h"
#include "ops/dims.h"
#include "ops/strided.h"
#include "ops/structure.h"
#include "ops/table.h"
#include "runtime/dynamic_bodies.h"

namespace tenon {
namespace {

std::string key_of(const Problem& problem) {
  std::string key;
  for (const Operand& operand : problem.inputs)
    key += fmt::format("|{}", fmt::join(operand.extents, "x"));
  return key;
}

/// Reports steps of a stretch as the nodes of the whole graph that they are copies of.
class OriginalTimes final : public StepTimes {
 public:
  OriginalTimes(const GraphPart& part, StepTimes& times) : part_(part), times_(times) {}
  void report(const Node& node, double milliseconds) override {
    times_.report(*part_.originals.at(&node), milliseconds);
  }

 private:
  const GraphPart& part_;
  StepTimes& times_;
};

}  // namespace

/// The state of one run.
struct DynamicRunner::Run {
  DynamicRunner& runner;
  ConstantStore& constants;
  Queue queue;
  int threads;
  StepTimes* times;  ///< May be null.
  SymbolValues symbols;
  /// Inputs and results so far, dense, and constants that deciding nodes have read.
  std::unordered_map<const Value*, DynamicOutput> values = {};
  std::vector<DeviceBuffer> arenas = {};  ///< The last one is used, earlier ones still may be.
  size_t arena_bytes = 0;
  std::vector<void*> scratch = {};

  Device& device() { return *runner.backend_.device; }

  Status run_all() {
    for (Part& part : runner.parts_) TENON_TRY(run_part(part));
    return {};
  }

  Status run_part(Part& part) {
    if (part.what.node == nullptr) return run_stretch(part);
    using Clock = std::chrono::steady_clock;
    const Node& node = *part.what.node;
    const auto start = Clock::now();
    Status status = is_control_flow(node) ? run_control(node) : run_sized(part);
    if (!status.ok())
      return std::move(status).error().with_context(fmt::format("layer '{}'", node.name));
    if (times == nullptr) return {};
    TENON_TRY(device().synchronize(queue));
    times->report(node, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    return {};
  }

  Result<Extents> extents_of(const Value& value) {
    TENON_ASSIGN(auto extents, concrete_extents(value, symbols));
    if (!extents.has_value())
      return internal_error("the extents of {} are not known", quoted_name(value));
    return std::move(*extents);
  }

  static size_t bytes_of(const Value& value, const Extents& extents) {
    return static_cast<size_t>(element_count(extents) * byte_size(value.type.type));
  }

  /// Contents of a constant, or of `dims` under the symbols so far; null for computed values.
  Result<std::optional<Tensor>> given(const Value& value) {
    if (const Tensor* tensor = value.constant()) return std::optional(*tensor);
    const auto* dims = value.producer() == nullptr ? nullptr : value.producer()->as<Dims>();
    if (dims == nullptr) return std::optional<Tensor>();
    auto contents = dims->evaluate(symbols);
    if (!contents.has_value())
      return internal_error("the contents of {} are not known", quoted_name(value));
    return contents;
  }

  /// A value that an input, a constant or an earlier part gives.
  Result<const DynamicOutput*> find(const Value& value) {
    if (const auto found = values.find(&value); found != values.end()) return &found->second;
    TENON_ASSIGN(const auto contents, given(value));
    if (!contents.has_value()) return internal_error("nothing has computed {}", quoted_name(value));
    DynamicOutput held{contents->extents(), nullptr, nullptr};
    if (value.constant() != nullptr) {
      TENON_ASSIGN(held.bytes, constants.find(*contents));
    } else {
      // Everything that follows from the shapes lives only as long as the run.
      TENON_ASSIGN(held.buffer, upload(*contents));
      held.bytes = held.buffer.get();
    }
    return &values.insert_or_assign(&value, std::move(held)).first->second;
  }

  /// Memory for a result, whose symbols have values.
  Result<void*> add_result(const Value& value) {
    TENON_ASSIGN(Extents extents, extents_of(value));
    TENON_ASSIGN(DeviceBuffer buffer, runner.memory_(bytes_of(value, extents)));
    void* const bytes = buffer.get();
    values[&value] = {std::move(extents), std::move(buffer), bytes};
    return bytes;
  }

  Result<DeviceBuffer> upload(const Tensor& tensor) {
    const auto bytes = static_cast<size_t>(tensor.byte_count());
    TENON_ASSIGN(DeviceBuffer buffer, runner.memory_(bytes));
    TENON_TRY(device().upload(buffer.get(), tensor.bytes(), bytes, queue));
    TENON_TRY(device().synchronize(queue));
    return buffer;
  }

  Result<const Program*> find_program(Part& part, std::span<void* const> inputs) {
    SymbolValues used;
    std::string key;
    for (const std::string& name : part.what.symbols)
      if (const auto found = symbols.find(name); found != symbols.end()) {
        used.insert(*found);
        key += fmt::format("{},", found->second);
      }
    // Slices of sequences start anywhere.
    constexpr uintptr_t kWidest = 16;
    std::vector<int64_t> alignments;
    for (void* const address : inputs)
      alignments.push_back(
          static_cast<int64_t>(std::gcd(reinterpret_cast<uintptr_t>(address), kWidest)));
    key += fmt::format("{}", fmt::join(alignments, ","));
    if (const Program* program = part.programs.find(key)) return program;
    TENON_TRY(part.what.rules.check(used));
    TENON_ASSIGN(ConcreteGraph graph, ConcreteGraph::create(*part.what.graph, std::move(used)));
    for (size_t i = 0; i < inputs.size(); ++i)
      if (alignments[i] < static_cast<int64_t>(kWidest))
        graph.align(part.what.graph->inputs()[i], alignments[i]);
    TENON_ASSIGN(auto made, Program::create(runner.backend_, constants, std::move(graph), threads));
    const size_t bytes = made->owned_bytes();
    const Program* const program = part.programs.add(std::move(key), std::move(made), bytes);
    TENON_TRY(drop_oldest(part.programs));
    return program;
  }

  template <class K> Status drop_oldest(KeptKernels<K>& kept) {
    if (!kept.has_too_many()) return {};
    TENON_TRY(device().synchronize(queue));
    kept.drop_oldest();
    return {};
  }

  Status run_stretch(Part& part) {
    std::vector<void*> inputs, outputs;
    for (const Value* value : part.what.inputs) {
      TENON_ASSIGN(const DynamicOutput* const input, find(*value));
      inputs.push_back(const_cast<void*>(input->bytes));
    }
    TENON_ASSIGN(const Program* const program, find_program(part, inputs));
    for (const Value* value : part.what.outputs) {
      TENON_ASSIGN(void* const output, add_result(*value));
      outputs.push_back(output);
    }
    TENON_ASSIGN(void* const arena, reserve(program->arena_bytes()));
    const auto run = [&](StepTimer* timer) {
      return program->run(runner.backend_, inputs, outputs, arena, queue, scratch, timer);
    };
    if (times == nullptr) return run(nullptr);
    StepTimer timer(device());
    TENON_TRY(run(&timer));
    OriginalTimes originals(part.what, *times);
    return timer.report(originals, queue);
  }

  /// Stretches run one after the other: they share an arena.
  Result<void*> reserve(size_t bytes) {
    if (bytes > arena_bytes) {
      TENON_ASSIGN(arenas.emplace_back(), runner.memory_(bytes));
      arena_bytes = bytes;
    }
    return arenas.empty() ? nullptr : arenas.back().get();
  }

  /// Contents on the host, row-major.
  Result<Tensor> fetch(const Value& value) {
    TENON_ASSIGN(auto contents, given(value));
    if (contents.has_value()) return std::move(*contents);
    TENON_ASSIGN(const DynamicOutput* const held, find(value));
    Tensor dense(value.type.type, held->extents);
    if (dense.count() == 0) return dense;
    TENON_TRY(device().download(dense.mutable_bytes(), held->bytes,
                                static_cast<size_t>(dense.byte_count()), queue));
    TENON_TRY(device().synchronize(queue));
    const Strides plain = row_major_strides(held->extents);
    const Strides strides = dense_strides(held->extents, value.type.layout);
    if (strides == plain) return dense;
    Tensor tensor(value.type.type, held->extents);
    strided_copy(tensor.mutable_bytes(), plain, dense.bytes(), strides, held->extents,
                 byte_size(value.type.type));
    return tensor;
  }

  /// Operands of a node whose results have no extents yet.
  Result<Problem> sized_problem(const Node& node) {
    Problem problem;
    problem.operation = node;
    problem.layer = node.name;
    problem.device = &device();
    problem.constants = runner.backend_.constants;
    problem.application = runner.backend_.application.get();
    for (const Value* value : node.inputs()) {
      Operand& operand = problem.inputs.emplace_back();
      if (value == nullptr) continue;
      operand = {.present = true, .type = value->type.type};
      TENON_ASSIGN(operand.extents, extents_of(*value));
      operand.layout = value->type.layout;
    }
    for (const Value* value : node.outputs())
      problem.outputs.push_back({.present = true, .type = value->type.type});
    return problem;
  }

  /// Null where the device has none.
  Result<SizedKernel*> find_sized_kernel(Part& part) {
    const Node& node = *part.what.node;
    TENON_ASSIGN(const Problem problem, sized_problem(node));
    std::string key = key_of(problem);
    if (SizedKernel* kernel = part.kernels.find(key)) return kernel;
    // Plugins are objects of this library's on every device, and no host can evaluate them instead.
    const bool is_plugin = node.is<Plugin>();
    const bool is_plain = std::ranges::all_of(
        node.outputs(), [](const Value* value) { return value->type.layout == Layout::kRowMajor; });
    if (!is_plugin && (runner.backend_.make_sized == nullptr || !is_plain))
      return static_cast<SizedKernel*>(nullptr);
    auto made = is_plugin ? make_plugin_sized_kernel(problem) : runner.backend_.make_sized(problem);
    if (!made.ok() && is_plugin) return std::move(made).error();
    if (!made.ok()) return static_cast<SizedKernel*>(nullptr);
    SizedKernel* kernel = part.kernels.add(std::move(key), std::move(made).value());
    TENON_TRY(drop_oldest(part.kernels));
    return kernel;
  }

  /// On the device where it has a kernel for that, else on the host.
  Status run_sized(Part& part) {
    const Node& node = *part.what.node;
    TENON_ASSIGN(SizedKernel * kernel, find_sized_kernel(part));
    if (kernel == nullptr) return run_on_host(node);
    std::vector<const void*> inputs;
    for (const Value* value : node.inputs()) {
      inputs.push_back(nullptr);
      if (value == nullptr) continue;
      TENON_ASSIGN(const DynamicOutput* const input, find(*value));
      inputs.back() = input->bytes;
    }
    TENON_ASSIGN(const DeviceBuffer workspace, runner.memory_(kernel->workspace_bytes()));
    TENON_ASSIGN(const auto extents, kernel->measure(inputs, workspace.get(), queue));
    TENON_TRY(bind_results(node, extents));
    std::vector<void*> outputs;
    for (const Value* value : node.outputs()) {
      TENON_ASSIGN(outputs.emplace_back(), add_result(*value));
    }
    TENON_TRY(kernel->write(inputs, outputs, workspace.get(), queue));
    return device().synchronize(queue);
  }

  /// Bodies run on the device too.
  Status run_control(const Node& node) {
    std::vector<BodyOperand> operands;
    for (const Value* value : node.inputs()) {
      BodyOperand& operand = operands.emplace_back();
      if (value == nullptr) continue;
      TENON_ASSIGN(const DynamicOutput* const input, find(*value));
      operand = {true, input->bytes, input->extents};
    }
    const auto body = [this](const Graph& graph) -> DynamicRunner& {
      auto& inner = runner.bodies_[&graph];
      if (inner == nullptr)
        inner = std::make_unique<DynamicRunner>(runner.backend_, runner.memory_, graph);
      return *inner;
    };
    const BodyRun bodies{device(), runner.memory_, constants, symbols, queue, threads, body};
    auto results = run_bodies(bodies, node, operands);
    if (!results.ok() && results.error().kind == ErrorKind::kUnsupported) return run_on_host(node);
    if (!results.ok()) return std::move(results).error();
    std::vector<Extents> extents;
    for (const DynamicOutput& result : *results) extents.push_back(result.extents);
    TENON_TRY(bind_results(node, extents));
    for (size_t i = 0; i < results->size(); ++i)
      values[node.outputs()[i]] = std::move((*results)[i]);
    return {};
  }

  /// The symbols of a node's results get their values.
  Status bind_results(const Node& node, const std::vector<Extents>& results) {
    for (size_t i = 0; i < results.size(); ++i) {
      const Value& value = *node.outputs()[i];
      const Shape& shape = value.type.shape;
      if (results[i].size() != shape.size())
        return internal_error("output {} has {} axes, {} were inferred", i, results[i].size(),
                              shape.size());
      for (size_t axis = 0; axis < shape.size(); ++axis)
        if (const auto symbol = shape[axis].as_symbol())
          symbols.try_emplace(*symbol, results[i][axis]);
    }
    for (size_t i = 0; i < results.size(); ++i) {
      TENON_ASSIGN(const Extents extents, extents_of(*node.outputs()[i]));
      if (extents != results[i])
        return internal_error("output {} has other extents than inferred", i);
    }
    return {};
  }

  Status run_on_host(const Node& node) {
    std::vector<Tensor> tensors(node.inputs().size());
    std::vector<const Tensor*> operands(node.inputs().size(), nullptr);
    for (size_t i = 0; i < tensors.size(); ++i) {
      if (node.inputs()[i] == nullptr) continue;
      TENON_ASSIGN(tensors[i], fetch(*node.inputs()[i]));
      operands[i] = &tensors[i];
    }
    TENON_ASSIGN(std::vector<Tensor> results, evaluate_node(node, operands, &symbols));
    std::vector<Extents> extents;
    for (const Tensor& result : results) extents.push_back(result.extents());
    TENON_TRY(bind_results(node, extents));
    for (size_t i = 0; i < results.size(); ++i) {
      TENON_ASSIGN(void* to, add_result(*node.outputs()[i]));
      const Tensor laid_out = in_layout(std::move(results[i]), node.outputs()[i]->type.layout);
      TENON_TRY(device().upload(to, laid_out.bytes(), laid_out.byte_count(), queue));
      TENON_TRY(device().synchronize(queue));
    }
    return {};
  }

  /// A row-major tensor's elements in the order of the layout.
  static Tensor in_layout(Tensor tensor, Layout layout) {
    const Strides plain = row_major_strides(tensor.extents());
    const Strides strides = dense_strides(tensor.extents(), layout);
    if (strides == plain) return tensor;
    Tensor ordered(tensor.type(), tensor.extents());
    strided_copy(ordered.mutable_bytes(), strides, tensor.bytes(), plain, tensor.extents(),
                 byte_size(tensor.type()));
    return ordered;
  }

  Result<std::vector<DynamicOutput>> outputs() {
    std::vector<DynamicOutput> outputs;
    for (const Value* value : runner.graph_.outputs()) {
      TENON_ASSIGN(const DynamicOutput* const held, find(*value));
      outputs.push_back({held->extents, nullptr, held->bytes});
    }
    for (size_t i = 0; i < outputs.size(); ++i)
      outputs[i].buffer = std::move(values.at(runner.graph_.outputs()[i]).buffer);
    // The other buffers go now.
    TENON_TRY(device().synchronize(queue));
    return outputs;
  }
};

Result<std::vector<DynamicOutput>> DynamicRunner::run(ConstantStore& constants,
                                                      const SymbolValues& symbols,
                                                      std::span<void* const> inputs, Queue queue,
                                                      int threads, StepTimes* times) {
  if (!is_split_) {
    std::set<std::string> known;
    for (const auto& [name, value] : symbols) known.insert(name);
    TENON_ASSIGN(std::vector<GraphPart> parts, split_by_symbols(graph_, std::move(known)));
    for (GraphPart& part : parts) parts_.push_back({std::move(part), {}, {}});
    is_split_ = true;
  }
  Run run{*this, constants, queue, threads, times, symbols};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& input = *graph_.inputs()[i];
    TENON_ASSIGN(auto extents, concrete_extents(input, symbols));
    // Of what no body reads.
    run.values[&input] = {std::move(extents).value_or(Extents()), nullptr, inputs[i]};
  }
  Status ran = run.run_all();
  auto outputs = ran.ok() ? run.outputs() : Result<std::vector<DynamicOutput>>(ran.error());
  // Buffers go now: earlier launches still use them.
  if (!outputs.ok()) (void)run.device().synchronize(queue);
  return outputs;
}

}  // namespace tenon
