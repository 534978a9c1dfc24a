#include "runtime/dynamic_run.h"

#include <chrono>

#include "ops/dims.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon {
namespace {

std::string kernel_key(const Problem& problem) {
  std::string key = problem.node->name;
  for (const auto* operands : {&problem.inputs, &problem.outputs})
    for (const Operand& operand : *operands)
      key +=
          fmt::format("|{}/{}", fmt::join(operand.extents, "x"), fmt::join(operand.strides, ","));
  return key;
}

}  // namespace

/// The state of one run.
struct DynamicRunner::Run {
  DynamicRunner& runner;
  ConstantStore& constants;
  std::span<void* const> inputs;
  Queue queue;
  int threads;
  ConcreteGraph graph;
  std::unordered_map<const Value*, DeviceBuffer> buffers = {};  ///< By root.

  Device& device() { return *runner.backend_.device; }

  /// Address of a value's first element; allocates the buffer of a root met for the first time.
  Result<void*> address(const Value* value) {
    const Storage& storage = graph.storage(value);
    std::byte* base = nullptr;
    if (const Tensor* tensor = graph.known(storage.root)) {
      TENON_ASSIGN(const void* bytes, constants.find(*tensor));
      base = static_cast<std::byte*>(const_cast<void*>(bytes));
    } else if (storage.root->producer() == nullptr) {
      base = static_cast<std::byte*>(inputs[storage.root->index()]);
    } else {
      DeviceBuffer& buffer = buffers[storage.root];
      if (buffer == nullptr) {
        const int64_t bytes =
            element_count(graph.extents(storage.root)) * byte_size(storage.root->type.type);
        TENON_ASSIGN(buffer, device().allocate(static_cast<size_t>(bytes)));
      }
      base = static_cast<std::byte*>(buffer.get());
    }
    return static_cast<void*>(base + storage.offset * byte_size(value->type.type));
  }

  Status run_kernel(const Node& node) {
    const Problem problem = graph.problem(node, device(), threads);
    auto& kernel = runner.kernels_[kernel_key(problem)];
    if (kernel == nullptr) {
      TENON_ASSIGN(kernel, make_kernel(runner.backend_, node, problem));
    }
    std::vector<void*> pointers;
    for (const Value* value : node.inputs()) {
      pointers.push_back(nullptr);
      if (value == nullptr) continue;
      TENON_ASSIGN(pointers.back(), address(value));
    }
    for (const Value* value : node.outputs()) {
      TENON_ASSIGN(void* output, address(value));
      pointers.push_back(output);
    }
    TENON_ASSIGN(DeviceBuffer workspace, device().allocate(kernel->workspace_bytes()));
    LaunchArguments arguments;
    arguments.inputs = {pointers.data(), node.inputs().size()};
    arguments.outputs = {pointers.data() + node.inputs().size(), node.outputs().size()};
    arguments.workspace = workspace.get();
    arguments.queue = queue;
    TENON_TRY(kernel->run(arguments));
    return kernel->workspace_bytes() > 0 ? device().synchronize(queue) : Status();
  }

  /// Contents of a resolved value on the host, dense and row-major.
  Result<Tensor> fetch(const Value* value) {
    if (const Tensor* tensor = graph.known(value)) return *tensor;
    const Storage& storage = graph.storage(value);
    if (!storage.strides.empty() || value->type.layout != Layout::kRowMajor)
      return internal_error("'{}' is not dense", value->name);
    Tensor tensor(value->type.type, graph.extents(value));
    TENON_ASSIGN(const void* from, address(value));
    TENON_TRY(device().download(tensor.mutable_bytes(), from, tensor.byte_count(), queue));
    TENON_TRY(device().synchronize(queue));
    return tensor;
  }

  Status run_on_host(const Node& node) {
    std::vector<Tensor> tensors(node.inputs().size());
    std::vector<const Tensor*> operands(node.inputs().size(), nullptr);
    for (size_t i = 0; i < tensors.size(); ++i) {
      const Value* value = node.inputs()[i];
      if (value == nullptr) continue;
      if (!graph.resolved(value))
        return internal_error("the extents of '{}' are not known", value->name);
      TENON_ASSIGN(tensors[i], fetch(value));
      operands[i] = &tensors[i];
    }
    TENON_ASSIGN(std::vector<Tensor> results, evaluate_node(node, operands));
    SymbolValues symbols = graph.symbols();
    for (size_t i = 0; i < results.size(); ++i) {
      const Shape& shape = node.output(static_cast<int>(i))->type.shape;
      if (results[i].rank() != static_cast<int>(shape.size()))
        return internal_error("output {} has {} axes, {} were inferred", i, results[i].rank(),
                              shape.size());
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const auto names = shape[axis].symbols();
        if (names.size() == 1 && shape[axis] == Dim::symbol(names[0]))
          symbols.try_emplace(names[0], results[i].extents()[axis]);
      }
    }
    TENON_ASSIGN(graph, ConcreteGraph::create(runner.graph_, std::move(symbols)));
    for (size_t i = 0; i < results.size(); ++i) {
      const Value* value = node.output(static_cast<int>(i));
      if (!graph.resolved(value) || graph.extents(value) != results[i].extents())
        return internal_error("output {} has other extents than inferred", i);
      TENON_ASSIGN(void* to, address(value));
      TENON_TRY(device().upload(to, results[i].bytes(), results[i].byte_count(), queue));
      TENON_TRY(device().synchronize(queue));
    }
    return {};
  }
};

Result<std::vector<DynamicOutput>> DynamicRunner::run(ConstantStore& constants,
                                                      const SymbolValues& symbols,
                                                      std::span<void* const> inputs, Queue queue,
                                                      int threads, StepTimes* times) {
  using Clock = std::chrono::steady_clock;
  TENON_ASSIGN(ConcreteGraph concrete, ConcreteGraph::create(graph_, symbols));
  Run run{*this, constants, inputs, queue, threads, std::move(concrete)};
  for (const auto& node : graph_.nodes()) {
    if (node->is<Constant>() || node->is<Dims>()) continue;
    const bool resolved = run.graph.resolved(*node);
    if (run.graph.is_view(*node)) continue;
    const auto start = Clock::now();
    Status status = resolved ? run.run_kernel(*node) : run.run_on_host(*node);
    if (!status.ok())
      return std::move(status).error().with_context(fmt::format("layer '{}'", node->name));
    if (times == nullptr) continue;
    TENON_TRY(run.device().synchronize(queue));
    times->report(*node, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  }
  std::vector<DynamicOutput> outputs;
  for (const Value* value : graph_.outputs()) {
    DynamicOutput output;
    output.extents = run.graph.extents(value);
    TENON_ASSIGN(output.bytes, run.address(value));
    outputs.push_back(std::move(output));
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto found = run.buffers.find(run.graph.storage(graph_.outputs()[i]).root);
    if (found != run.buffers.end()) outputs[i].buffer = std::move(found->second);
  }
  return outputs;
}

}  // namespace tenon
