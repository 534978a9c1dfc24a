#include "runtime/dynamic_run.h"

#include <algorithm>
#include <chrono>
#include <unordered_set>

#include "kernels/plugin/sized.h"
#include "ops/control_flow.h"
#include "ops/dims.h"
#include "ops/strided.h"
#include "ops/structure.h"
#include "ops/table.h"
#include "runtime/dynamic_bodies.h"

namespace tenon {
namespace {

std::string kernel_key(const Problem& problem) {
  std::string key;
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
  std::unordered_set<const Node*> done = {};

  Device& device() { return *runner.backend_.device; }

  /// All operands are there. Nodes that use extents come after the nodes that decide these, which
  /// the order of the graph does not tell.
  bool ready(const Node& node) const {
    auto there = [this](const Value* value) {
      if (value == nullptr || value->producer() == nullptr || graph.known(value) != nullptr)
        return true;
      return done.contains(value->producer());
    };
    return std::all_of(node.inputs().begin(), node.inputs().end(), there);
  }

  Status run_node(const Node& node, StepTimes* times) {
    using Clock = std::chrono::steady_clock;
    done.insert(&node);
    const bool resolved = graph.resolved(node);
    if (graph.is_view(node)) return {};
    const auto start = Clock::now();
    Status status = is_control_flow(node) ? run_control(node)
                    : resolved            ? run_kernel(node)
                                          : run_sized(node);
    if (!status.ok())
      return std::move(status).error().with_context(fmt::format("layer '{}'", node.name));
    if (times == nullptr) return {};
    TENON_TRY(device().synchronize(queue));
    times->report(node, std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    return {};
  }

  Status run_all(StepTimes* times) {
    std::vector<const Node*> pending;
    for (const auto& node : runner.graph_.nodes())
      if (!node->is<Constant>() && !node->is<Dims>()) pending.push_back(node.get());
    while (!pending.empty()) {
      std::vector<const Node*> later;
      for (const Node* node : pending) {
        if (ready(*node))
          TENON_TRY(run_node(*node, times));
        else
          later.push_back(node);
      }
      if (later.size() == pending.size())
        return internal_error("layer '{}' uses extents that nothing decides", later[0]->name);
      pending = std::move(later);
    }
    return {};
  }

  /// Address of a value's first element; allocates the buffer of a root met for the first time.
  Result<void*> address(const Value* value) {
    const Storage& storage = graph.storage(value);
    std::byte* base = nullptr;
    if (const Tensor* tensor = storage.root->constant()) {
      TENON_ASSIGN(const void* bytes, constants.find(*tensor));
      base = static_cast<std::byte*>(const_cast<void*>(bytes));
    } else if (const Tensor* known = graph.known(storage.root)) {
      // Everything that follows from the shapes lives only as long as the run.
      DeviceBuffer& buffer = buffers[storage.root];
      if (buffer == nullptr) {
        TENON_ASSIGN(buffer, upload(*known));
      }
      base = static_cast<std::byte*>(buffer.get());
    } else if (storage.root->producer() == nullptr) {
      base = static_cast<std::byte*>(inputs[storage.root->index()]);
    } else {
      DeviceBuffer& buffer = buffers[storage.root];
      if (buffer == nullptr) {
        const int64_t bytes =
            element_count(graph.extents(storage.root)) * byte_size(storage.root->type.type);
        TENON_ASSIGN(buffer, runner.memory_(static_cast<size_t>(bytes)));
      }
      base = static_cast<std::byte*>(buffer.get());
    }
    return static_cast<void*>(base + storage.offset * byte_size(value->type.type));
  }

  Result<DeviceBuffer> upload(const Tensor& tensor) {
    const auto bytes = static_cast<size_t>(tensor.byte_count());
    TENON_ASSIGN(DeviceBuffer buffer, runner.memory_(bytes));
    TENON_TRY(device().upload(buffer.get(), tensor.bytes(), bytes, queue));
    TENON_TRY(device().synchronize(queue));
    return buffer;
  }

  Result<const Kernel*> find_kernel(const Node& node, const Problem& problem) {
    KeptKernels<Kernel>& kept = runner.kernels_[&node];
    std::string key = kernel_key(problem);
    if (const Kernel* kernel = kept.find(key)) return kernel;
    TENON_ASSIGN(std::unique_ptr<Kernel> made, make_kernel(runner.backend_, node, problem));
    const size_t bytes = std::max(made->owned_bytes(), made->packed().size());
    const Kernel* kernel = kept.add(std::move(key), std::move(made), bytes);
    TENON_TRY(drop_oldest(kept));
    return kernel;
  }

  /// Null where the device has none.
  Result<SizedKernel*> find_sized_kernel(const Node& node) {
    TENON_ASSIGN(const Problem problem, sized_problem(node));
    KeptKernels<SizedKernel>& kept = runner.sized_kernels_[&node];
    std::string key = kernel_key(problem);
    if (SizedKernel* kernel = kept.find(key)) return kernel;
    // Plugins are objects of this library's on every device, and no host can evaluate them instead.
    const bool is_plugin = node.is<Plugin>();
    if (!is_plugin && runner.backend_.make_sized == nullptr)
      return static_cast<SizedKernel*>(nullptr);
    auto made = is_plugin ? make_plugin_sized_kernel(problem) : runner.backend_.make_sized(problem);
    if (!made.ok() && is_plugin) return std::move(made).error();
    if (!made.ok()) return static_cast<SizedKernel*>(nullptr);
    SizedKernel* kernel = kept.add(std::move(key), std::move(made).value());
    TENON_TRY(drop_oldest(kept));
    return kernel;
  }

  template <class K>
  Status drop_oldest(KeptKernels<K>& kept) {
    if (!kept.has_too_many()) return {};
    TENON_TRY(device().synchronize(queue));
    kept.drop_oldest();
    return {};
  }

  Status run_kernel(const Node& node) {
    const Problem problem = graph.problem(node, runner.backend_, threads);
    TENON_ASSIGN(const Kernel* kernel, find_kernel(node, problem));
    std::vector<void*> pointers;
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      pointers.push_back(nullptr);
      // A constant that the kernel has packed need not be there.
      if (node.inputs()[i] == nullptr || !kernel->uses_input(static_cast<int>(i))) continue;
      TENON_ASSIGN(pointers.back(), address(node.inputs()[i]));
    }
    for (const Value* value : node.outputs()) {
      TENON_ASSIGN(void* output, address(value));
      pointers.push_back(output);
    }
    TENON_ASSIGN(DeviceBuffer workspace, runner.memory_(kernel->workspace_bytes()));
    LaunchArguments arguments;
    arguments.inputs = {pointers.data(), node.inputs().size()};
    arguments.outputs = {pointers.data() + node.inputs().size(), node.outputs().size()};
    arguments.workspace = workspace.get();
    arguments.queue = queue;
    for (size_t i = 0; i < node.inputs().size(); ++i)
      if (pointers[i] != nullptr && kernel->reads_early(static_cast<int>(i))) {
        TENON_TRY(device().prepare_fence());
        TENON_TRY(device().fence(queue));
        break;
      }
    TENON_TRY(kernel->run(arguments));
    return kernel->workspace_bytes() > 0 ? device().synchronize(queue) : Status();
  }

  /// Contents of a resolved value on the host, dense and row-major.
  Result<Tensor> fetch(const Value* value) {
    if (const Tensor* tensor = graph.known(value)) return *tensor;
    const Storage& storage = graph.storage(value);
    Tensor tensor(value->type.type, graph.extents(value));
    if (tensor.count() == 0) return tensor;
    const Strides strides = storage.strides.empty()
                                ? dense_strides(tensor.extents(), value->type.layout)
                                : storage.strides;
    // The stretch of memory that the elements lie in, which holds others where a view has gaps.
    int64_t below = 0, above = 0;
    for (size_t axis = 0; axis < strides.size(); ++axis)
      (strides[axis] < 0 ? below : above) += strides[axis] * (tensor.extents()[axis] - 1);
    const int bytes = byte_size(value->type.type);
    std::vector<std::byte> stretch(static_cast<size_t>((above - below + 1) * bytes));
    TENON_ASSIGN(const void* first, address(value));
    TENON_TRY(device().download(stretch.data(),
                                static_cast<const std::byte*>(first) + below * bytes,
                                stretch.size(), queue));
    TENON_TRY(device().synchronize(queue));
    strided_copy(tensor.mutable_bytes(), row_major_strides(tensor.extents()),
                 stretch.data() - below * bytes, strides, tensor.extents(), bytes);
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
      if (!graph.resolved(value))
        return internal_error("the extents of '{}' are not known", value->name);
      operand = {.present = true, .type = value->type.type, .extents = graph.extents(value)};
      operand.layout = value->type.layout;
      operand.strides = graph.storage(value).strides;
    }
    for (const Value* value : node.outputs())
      problem.outputs.push_back({.present = true, .type = value->type.type});
    return problem;
  }

  /// On the device where it has a kernel for that, else on the host.
  Status run_sized(const Node& node) {
    TENON_ASSIGN(SizedKernel * kernel, find_sized_kernel(node));
    if (kernel == nullptr) return run_on_host(node);
    std::vector<const void*> inputs;
    for (const Value* value : node.inputs()) {
      inputs.push_back(nullptr);
      if (value == nullptr) continue;
      TENON_ASSIGN(inputs.back(), address(value));
    }
    TENON_ASSIGN(const DeviceBuffer workspace, runner.memory_(kernel->workspace_bytes()));
    TENON_ASSIGN(const auto extents, kernel->measure(inputs, workspace.get(), queue));
    TENON_TRY(bind_results(node, extents));
    std::vector<void*> outputs;
    for (const Value* value : node.outputs()) {
      TENON_ASSIGN(void* output, address(value));
      outputs.push_back(output);
    }
    TENON_TRY(kernel->write(inputs, outputs, workspace.get(), queue));
    return device().synchronize(queue);
  }

  /// Bodies run on the device too.
  Status run_control(const Node& node) {
    std::vector<BodyOperand> operands;
    std::vector<DeviceBuffer> dense;
    for (const Value* value : node.inputs()) {
      BodyOperand& operand = operands.emplace_back();
      if (value == nullptr) continue;
      if (!graph.resolved(value))
        return internal_error("the extents of '{}' are not known", value->name);
      operand = {true, nullptr, graph.extents(value)};
      if (graph.storage(value).strides.empty()) {
        TENON_ASSIGN(operand.bytes, address(value));
        continue;
      }
      TENON_ASSIGN(const Tensor tensor, fetch(value));
      TENON_ASSIGN(dense.emplace_back(), upload(tensor));
      operand.bytes = dense.back().get();
    }
    const auto body = [this](const Graph& graph) -> DynamicRunner& {
      auto& inner = runner.bodies_[&graph];
      if (inner == nullptr)
        inner = std::make_unique<DynamicRunner>(runner.backend_, runner.memory_, graph);
      return *inner;
    };
    const BodyRun bodies{device(), runner.memory_, constants, graph.symbols(),
                         queue,    threads,        body};
    auto results = run_bodies(bodies, node, operands);
    if (!results.ok() && results.error().kind == ErrorKind::kUnsupported) return run_on_host(node);
    if (!results.ok()) return std::move(results).error();
    return take(node, std::move(results).value());
  }

  /// Results become the node's outputs.
  Status take(const Node& node, std::vector<DynamicOutput> results) {
    std::vector<Extents> extents;
    for (const DynamicOutput& result : results) extents.push_back(result.extents);
    TENON_TRY(bind_results(node, extents));
    for (size_t i = 0; i < results.size(); ++i) {
      const Value* value = node.outputs()[i];
      if (graph.storage(value).root == value) {
        buffers[value] = std::move(results[i].buffer);
        continue;
      }
      const auto bytes =
          static_cast<size_t>(element_count(results[i].extents) * byte_size(value->type.type));
      TENON_ASSIGN(void* to, address(value));
      TENON_TRY(device().copy(to, results[i].bytes, bytes, queue));
      TENON_TRY(device().synchronize(queue));
    }
    return {};
  }

  /// The symbols of a node's results get their values.
  Status bind_results(const Node& node, const std::vector<Extents>& results) {
    SymbolValues symbols = graph.symbols();
    for (size_t i = 0; i < results.size(); ++i) {
      const Shape& shape = node.output(static_cast<int>(i))->type.shape;
      if (results[i].size() != shape.size())
        return internal_error("output {} has {} axes, {} were inferred", i, results[i].size(),
                              shape.size());
      for (size_t axis = 0; axis < shape.size(); ++axis) {
        const auto names = shape[axis].symbols();
        if (names.size() == 1 && shape[axis] == Dim::symbol(names[0]))
          symbols.try_emplace(names[0], results[i][axis]);
      }
    }
    TENON_ASSIGN(graph, ConcreteGraph::create(runner.graph_, std::move(symbols)));
    for (size_t i = 0; i < results.size(); ++i) {
      const Value* value = node.output(static_cast<int>(i));
      if (!graph.resolved(value) || graph.extents(value) != results[i])
        return internal_error("output {} has other extents than inferred", i);
    }
    return {};
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
    TENON_ASSIGN(std::vector<Tensor> results, evaluate_node(node, operands, &graph.symbols()));
    std::vector<Extents> extents;
    for (const Tensor& result : results) extents.push_back(result.extents());
    TENON_TRY(bind_results(node, extents));
    for (size_t i = 0; i < results.size(); ++i) {
      const Value* value = node.output(static_cast<int>(i));
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
  TENON_ASSIGN(ConcreteGraph concrete, ConcreteGraph::create(graph_, symbols));
  Run run{*this, constants, inputs, queue, threads, std::move(concrete)};
  if (Status ran = run.run_all(times); !ran.ok()) {
    // Buffers go now: earlier launches still use them.
    (void)run.device().synchronize(queue);
    return ran.error();
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
  // The other buffers go now.
  TENON_TRY(run.device().synchronize(queue));
  return outputs;
}

}  // namespace tenon
