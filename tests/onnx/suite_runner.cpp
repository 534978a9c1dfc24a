#include "suite_runner.h"

#include <set>

#include "device/described_device.h"
#include "gpu_bindings.h"
#include "gpu_of.h"
#include "ops/table.h"
#include "plan/plan_file.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "select/compile.h"

namespace tenon::onnx_suite {
namespace {

constexpr int kThreads = 2;

/// Extents that the model leaves open may be anything up to those of the data.
Profile profile_of(const Graph& graph, std::span<const Tensor> inputs) {
  Profile profile;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Value& value = *graph.inputs()[i];
    const Extents& extents = inputs[i].extents();
    Extents least = extents;
    for (size_t axis = 0; axis < least.size() && axis < value.type.shape.size(); ++axis)
      if (!value.type.shape[axis].is_constant()) least[axis] = std::min<int64_t>(1, least[axis]);
    profile[value.name] = {least, extents, extents};
  }
  return profile;
}

/// Memory of the outputs, which the context asks for when it knows their extents.
Status bind(Context& context, const Graph& graph, std::span<const Tensor> inputs,
            std::vector<Tensor>& outputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    const std::string& name = graph.inputs()[i]->name;
    TENON_TRY(context.set_input_shape(name, inputs[i].extents()));
    TENON_TRY(context.set_address(name, const_cast<std::byte*>(inputs[i].bytes())));
  }
  outputs.resize(graph.outputs().size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Value& value = *graph.outputs()[i];
    auto allocate = [&outputs, i, type = value.type.type](const Extents& extents, size_t, void*) {
      outputs[i] = Tensor(type, extents);
      return static_cast<void*>(outputs[i].mutable_bytes());
    };
    TENON_TRY(context.set_allocator(value.name, allocate));
  }
  return {};
}

}  // namespace

Status run_reference(const ImportedModel& model, std::span<const Tensor> inputs,
                     const Check& check) {
  TENON_ASSIGN(const std::vector<Tensor> outputs, evaluate_graph(*model.graph, inputs));
  return check(outputs);
}

namespace {

/// Tactics that a plan names.
std::set<std::string> tactics_of(const Plan& plan) {
  std::set<std::string> names;
  for (const auto& node : plan.graph->nodes())
    if (!node->tactic.empty()) names.insert(std::string(split_tactic(node->tactic).name));
  return names;
}

Result<Plan> build(const ImportedModel& model, const std::set<std::string>& tried,
                   std::span<const Tensor> inputs, Backend backend = cpu_backend(kThreads)) {
  CompileRequest request;
  request.graph = model.graph->clone();
  request.profiles.push_back(profile_of(*request.graph, inputs));
  request.backend = std::move(backend);
  request.select.level = 0;
  request.select.threads = kThreads;
  const Tactic* last = &request.backend.tactics.back();
  request.select.allowed = [&tried, last](const Tactic& tactic) {
    return &tactic == last || tactic.name == last->name ||
           !tried.contains(std::string(tactic.name));
  };
  TimingCache cache;
  NullLogger logger;
  TENON_ASSIGN(const Plan plan, compile(std::move(request), cache, logger));
  TENON_ASSIGN(const LargeBytes bytes, write_plan(plan));
  return read_plan(bytes, nullptr);
}

Result<std::vector<Tensor>> run(Plan plan, std::span<const Tensor> inputs) {
  TENON_ASSIGN(const std::shared_ptr<Engine> engine,
               Engine::create(std::move(plan), cpu_backend(kThreads)));
  TENON_ASSIGN(const std::unique_ptr<Context> context, Context::create(engine, kThreads));
  std::vector<Tensor> outputs;
  TENON_TRY(bind(*context, engine->graph(), inputs, outputs));
  TENON_TRY(context->enqueue());
  return outputs;
}

}  // namespace

Status run_engine(const ImportedModel& model, std::span<const Tensor> inputs, const Check& check) {
  std::set<std::string> tried;
  while (true) {
    TENON_ASSIGN(Plan plan, build(model, tried, inputs));
    const std::set<std::string> used = tactics_of(plan);
    TENON_ASSIGN(const std::vector<Tensor> outputs, run(std::move(plan), inputs));
    Status status = check(outputs);
    if (!status.ok())
      return std::move(status).error().with_context(fmt::format("{}", fmt::join(used, ", ")));
    const size_t before = tried.size();
    tried.insert(used.begin(), used.end());
    if (tried.size() == before) return {};
  }
}

namespace {

/// Known to have no results, so that nothing runs anywhere.
bool has_no_results(const Node& node) {
  return std::ranges::all_of(node.outputs(), [](const Value* output) {
    return std::ranges::any_of(output->type.shape,
                               [](const Dim& extent) { return extent == Dim(0); });
  });
}

/// Layers of a graph that would run on the host, in bodies too.
void find_hosted(const Graph& graph, std::set<std::string>& hosted) {
  for (const auto& node : graph.nodes()) {
    if (node->tactic == "cuda.reference" && !has_no_results(*node))
      hosted.insert(std::string(node->op->name()));
    for (const auto& body : node->bodies) find_hosted(*body, hosted);
  }
}

Status check_nothing_on_host(const Plan& plan) {
  std::set<std::string> hosted;
  find_hosted(*plan.graph, hosted);
  if (hosted.empty()) return {};
  return unsupported("on the host: {}", fmt::join(hosted, ", "));
}

}  // namespace

Status cover_gpu(const ImportedModel& model, std::span<const Tensor> inputs, const Check&) {
  TENON_ASSIGN(Backend backend, described_cuda_backend(gpu_of(90)));
  // Libraries need the GPU itself.
  std::set<std::string> libraries;
  for (const Tactic& tactic : backend.tactics)
    for (const char* library : {"cudnn", ".lt", ".sparse"})
      if (tactic.name.find(library) != std::string_view::npos) libraries.emplace(tactic.name);
  TENON_ASSIGN(const Plan plan, build(model, libraries, inputs, backend));
  return check_nothing_on_host(plan);
}

namespace {

Status run_gpu(const Backend& backend, const ImportedModel& model, std::span<const Tensor> inputs,
               const Check& check) {
  TENON_TRY(backend.device->activate());
  TENON_ASSIGN(Plan plan, build(model, {}, inputs, backend));
  const Status hosted = check_nothing_on_host(plan);
  TENON_ASSIGN(const std::shared_ptr<Engine> engine, Engine::create(std::move(plan), backend));
  TENON_ASSIGN(const std::unique_ptr<Context> context, Context::create(engine));
  GpuBindings bindings(*backend.device, *context);
  TENON_TRY(bindings.bind(engine->graph(), inputs));
  TENON_TRY(context->enqueue());
  TENON_ASSIGN(const std::vector<Tensor> outputs, bindings.results());
  TENON_TRY(check(outputs));
  return hosted;
}

}  // namespace

Runner gpu_runner() {
  auto backend = std::make_shared<std::optional<Backend>>();
  return [backend](const ImportedModel& model, std::span<const Tensor> inputs,
                   const Check& check) -> Status {
    if (!backend->has_value()) {
      TENON_ASSIGN(*backend, cuda_backend());
    }
    return run_gpu(**backend, model, inputs, check);
  };
}

}  // namespace tenon::onnx_suite
