#include "suite_runner.h"

#include <set>

#include "ops/table.h"
#include "plan/plan_file.h"
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
    auto allocate = [&outputs, i, type = value.type.type](const Extents& extents, size_t) {
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
                   std::span<const Tensor> inputs) {
  CompileRequest request;
  request.graph = model.graph->clone();
  request.profiles.push_back(profile_of(*request.graph, inputs));
  request.backend = cpu_backend(kThreads);
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
  TENON_ASSIGN(const std::vector<std::byte> bytes, write_plan(plan));
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

}  // namespace tenon::onnx_suite
