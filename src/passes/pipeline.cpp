#include <algorithm>
#include <chrono>
#include <set>

#include "base/guard.h"
#include "base/stopwatch.h"
#include "ops/dims.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "ops/verifier.h"
#include "passes/observed_passes.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// A pass that there is, by its name, and whether it makes a form of the graph.
struct Step {
  std::string_view name;
  bool makes_form;
};
constexpr Step step_of(bool (*)(Graph&, PassContext&), std::string_view name, bool makes_form) {
  return {name, makes_form};
}

/// The order.
constexpr Step kPipeline[] = {
#define TENON_STEP(pass) step_of(pass, #pass, false),
#define TENON_FORM_STEP(pass) step_of(pass, #pass, true),
#include "passes/passes.def"
};

bool is_disabled(const PassOptions& options, std::string_view name) {
  return std::find(options.disabled.begin(), options.disabled.end(), name) !=
         options.disabled.end();
}

/// Symbols that evaluation of a body knows: extents of its inputs.
void note_bound_symbols(const Graph& body, std::set<std::string>& bound) {
  for (const Value* input : body.inputs())
    for (const Dim& extent : input->type.shape)
      if (const auto symbol = extent.as_symbol()) bound.insert(*symbol);
}

/// The symbols of an expression of extents, in the body or in those inside it.
void note_used_symbols(const Graph& body, std::set<std::string>& used) {
  for (const auto& node : body.nodes()) {
    if (const auto* dims = node->as<Dims>())
      for (const std::string& expression : dims->expressions)
        if (const auto dim = Dim::parse(expression); dim.ok())
          for (std::string& symbol : dim->symbols()) used.insert(std::move(symbol));
    for (const auto& inner : node->bodies) note_used_symbols(*inner, used);
  }
}

/// A body knows fewer extents than the graph around it: expressions of a pass over the others are
/// of no use.
bool knows_its_symbols(const Graph& before, const Graph& after) {
  std::set<std::string> known, used;
  note_bound_symbols(after, known);
  note_used_symbols(before, known);
  note_used_symbols(after, used);
  return std::includes(known.begin(), known.end(), used.begin(), used.end());
}

Status tidy(Graph& graph) {
  graph.remove_dead();
  return graph.sort();
}

Result<bool> run_on_bodies(Graph& graph, const PassInfo& pass, PassContext& context);

/// One body, which stays as it was where the pass makes something that only the graph around it
/// could compute.
Result<bool> run_on_body(std::unique_ptr<Graph>& body, const PassInfo& pass, PassContext& context) {
  TENON_ASSIGN(bool changed, run_on_bodies(*body, pass, context));
  auto copy = body->clone();
  if (!pass.run(*copy, context)) return changed;
  TENON_TRY(tidy(*copy));
  if (!knows_its_symbols(*body, *copy)) return changed;
  body = std::move(copy);
  return true;
}

/// Of an If whose condition is known one branch has no types, and may not fit at all.
bool is_decided(const Node& node) {
  return node.is<If>() && (node.input(0)->constant() != nullptr || node.input(0)->elements);
}

/// The bodies of loops and branches that stay; bodies of regions are made of the nodes that a pass
/// chose.
Result<bool> run_on_bodies(Graph& graph, const PassInfo& pass, PassContext& context) {
  bool changed = false;
  for (const auto& node : graph.nodes()) {
    if (node->is<Fused>() || is_decided(*node)) continue;
    for (auto& body : node->bodies) {
      TENON_ASSIGN(const bool body_changed, run_on_body(body, pass, context));
      changed |= body_changed;
    }
  }
  return changed;
}

}  // namespace

std::vector<const PassInfo*> pipeline_of(const PassOptions& options) {
  std::vector<const PassInfo*> steps;
  for (const Step& step : kPipeline) steps.push_back(find_pass(step.name));
  for (const PassInfo& pass : options.extra) steps.push_back(&pass);
  return steps;
}

int steps_before_precision() {
  static const auto steps = std::ranges::find(kPipeline, "lower_precision", &Step::name);
  return static_cast<int>(steps - std::begin(kPipeline));
}

namespace {

/// What nothing needs, bodies of loops and branches included: passes take every node for one whose
/// results are wanted.
void remove_unneeded(Graph& graph) {
  graph.remove_dead();
  for (const auto& node : graph.nodes())
    for (const auto& body : node->bodies) remove_unneeded(*body);
}

Result<bool> run_unguarded(Graph& graph, const PassInfo& pass, PassContext& context,
                           OriginKeeper& origins) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  context.start(pass.name);
  const size_t reports = context.log().size(), nodes = graph.nodes().size();
  bool changed = pass.run(graph, context);
  Status status;
  if (changed) {
    status = tidy(graph);
    if (status.ok()) status = infer_graph(graph);
  }
  if (status.ok()) {
    TENON_ASSIGN(const bool bodies_changed, run_on_bodies(graph, pass, context));
    if (bodies_changed) status = infer_graph(graph);
    changed |= bodies_changed;
  }
  if (changed) {
    if (status.ok()) status = verify(graph);
  }
  // Passes that make many small changes do not name them.
  if (const size_t now = graph.nodes().size(); changed && context.log().size() == reports)
    context.applied(now == nodes ? fmt::format("{} nodes are as many, some of them changed", now)
                                 : fmt::format("{} nodes become {}", nodes, now));
  if (!status.ok())
    return std::move(status).error().with_context(fmt::format("after pass {}", pass.name));
  if (changed) origins.keep(graph, pass.name);
  context.logger().verbose("pass {}: {} nodes, {:.1f} ms", pass.name, graph.nodes().size(),
                           std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  return changed;
}

}  // namespace

Result<bool> run_pass(Graph& graph, const PassInfo& pass, PassContext& context,
                      OriginKeeper* origins) {
  if (pass.flag != nullptr && !(context.options().*pass.flag)) return false;
  return guarded(fmt::format("pass {}", pass.name), [&] {
    if (origins != nullptr) return run_unguarded(graph, pass, context, *origins);
    OriginKeeper own(graph);
    return run_unguarded(graph, pass, context, own);
  });
}

Result<std::vector<std::string>> run_passes(Graph& graph, const PassOptions& options,
                                            Logger& logger) {
  TENON_ASSIGN(PassRun run, run_observed_passes(graph, options, logger, nullptr));
  return std::move(run.applied);
}

namespace {

/// A form of the graph as it goes through the pipeline.
class Form {
 public:
  Form(const Graph& graph, const PassOptions& options, Logger& logger)
      : graph_(graph.clone()), context_(options, logger), origins_(*graph_) {
    context_.start_form();
  }
  Result<bool> run(const PassInfo& pass) { return run_pass(*graph_, pass, context_, &origins_); }
  std::unique_ptr<Graph> take() { return std::move(graph_); }

 private:
  std::unique_ptr<Graph> graph_;
  PassContext context_;
  OriginKeeper origins_;
};

/// Forms that the steps so far made. A step changes each, or makes one more.
class Forms {
 public:
  Forms(const PassOptions& options, Logger& logger) : options_(options), logger_(logger) {}

  Status step(const Graph& graph, size_t number, const PassInfo& pass) {
    for (const auto& form : forms_) TENON_TRY(form->run(pass));
    const bool makes_form = number < std::size(kPipeline) && kPipeline[number].makes_form;
    if (!options_.leaves_forms || !makes_form) return {};
    auto form = std::make_unique<Form>(graph, options_, logger_);
    TENON_ASSIGN(const bool differs, form->run(pass));
    if (differs) forms_.push_back(std::move(form));
    return {};
  }
  std::vector<std::unique_ptr<Graph>> take() {
    std::vector<std::unique_ptr<Graph>> graphs;
    for (const auto& form : forms_) graphs.push_back(form->take());
    return graphs;
  }

 private:
  const PassOptions& options_;
  Logger& logger_;
  std::vector<std::unique_ptr<Form>> forms_;
};

}  // namespace

Result<PassRun> run_observed_passes(Graph& graph, const PassOptions& options, Logger& logger,
                                    const PassObserver& observer,
                                    const GraphObserver& before_precision) {
  PassContext context(options, logger);
  OriginKeeper origins(graph);
  remove_unneeded(graph);
  origins.keep(graph, "");
  TENON_TRY(infer_graph(graph));
  const std::vector<const PassInfo*> pipeline = pipeline_of(options);
  const size_t steps = std::min<size_t>(pipeline.size(), std::max(options.steps, 0));
  Forms forms(options, logger);
  for (auto i = static_cast<size_t>(options.steps_before); i < steps; ++i) {
    const PassInfo& pass = *pipeline[i];
    if (before_precision && i == static_cast<size_t>(steps_before_precision()))
      before_precision(graph);
    if (options.level < pass.level || is_disabled(options, pass.name)) continue;
    Stopwatch watch;
    TENON_TRY(run_pass(graph, pass, context, &origins));
    TENON_TRY(forms.step(graph, i, pass));
    if (observer) observer(pass, watch.lap(), graph);
  }
  return PassRun{context.log(), origins.gone(graph), forms.take()};
}

}  // namespace tenon
