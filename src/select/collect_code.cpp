#include "select/collect_code.h"

#include <map>
#include <utility>

#include "base/parallel.h"
#include "base/stopwatch.h"
#include "device/open_extents.h"
#include "ops/application.h"
#include "ops/dims.h"
#include "ops/structure.h"
#include "plan/bodies.h"
#include "plan/concrete_graph.h"
#include "plan/open_form.h"
#include "plan/points.h"
#include "select/open_broadcasts.h"
#include "select/problem_key.h"

namespace tenon {
namespace {

/// Makes kernels of a graph and of its bodies for their code.
class Collector {
 public:
  /// With `own_alone` only kernels of our own; with `is_beside` none that calls the application,
  /// which may be waiting for the thread that builds.
  Collector(const Backend& backend, bool own_alone, bool is_beside)
      : backend_(backend), own_alone_(own_alone), is_beside_(is_beside) {}

  void collect(const ConcreteGraph& graph) {
    std::map<std::string, const Node*> layers;  // Equal ones once.
    for (const auto& node : graph.graph().nodes()) {
      if (node->is<Constant>() || node->is<Dims>() || graph.is_view(*node)) continue;
      if (is_beside_ && calls_application(*node)) continue;
      if (is_control_flow(*node))
        collect_bodies(graph, *node);
      else if (graph.resolved(*node))
        layers.emplace(code_key(graph, *node), node.get());
    }
    std::vector<const Node*> first;
    for (const auto& [key, node] : layers) first.push_back(node);
    for_each_node_parallel(
        first.size(), [&](size_t i) -> const Node& { return *first[i]; },
        [&](size_t i) { make(graph, *first[i]); });
  }

 private:
  void collect_bodies(const ConcreteGraph& graph, const Node& node) {
    for (int body = 0; body < static_cast<int>(node.bodies.size()); ++body) {
      if (!may_run(node, body)) continue;
      if (const auto inside = concrete_body(graph, node, body); inside.ok()) collect(*inside);
    }
  }

  /// All that may make a difference to a kernel's code: single numbers become part of it, and code
  /// for all extents is made for the largest ones.
  std::string code_key(const ConcreteGraph& graph, const Node& node) const {
    constexpr int64_t kFew = 64;
    const Problem problem = graph.problem(node, backend_, 1);
    std::string key =
        fmt::format("{}{}|{}", backend_.tactic_of(node), problem_key(problem), problem.most_bytes);
    for (const Operand& input : problem.inputs)
      if (const Tensor* constant = input.constant;
          constant != nullptr && constant->defined() && constant->count() <= kFew)
        key += constant->content_hash();
    return key;
  }

  /// What fails here fails for whoever runs the shape, and is told there.
  void make(const ConcreteGraph& graph, const Node& node) const {
    if (!backend_.device->activate().ok()) return;
    const Problem problem = graph.problem(node, backend_, 1);
    const bool of_library = is_library(backend_.origin_of(backend_.tactic_of(node)));
    if (!own_alone_ || !of_library) static_cast<void>(make_kernel(backend_, node, problem).ok());
    if (of_library) make_substitute(problem);
  }

  /// A library may be missing where the plan runs, or lack the compiler that it makes some kernels
  /// with: the kernel that the layer runs by then needs code too.
  void make_substitute(const Problem& problem) const {
    for (const Tactic& tactic : backend_.tactics)
      if (tactic.traits.origin == TacticOrigin::kOwn && fits(tactic, problem) &&
          create_kernel(tactic, problem, tactic.configs(problem).front()).ok())
        return;
  }

  const Backend& backend_;
  const bool own_alone_, is_beside_;
};

/// With the kernels of a choice, or the kernels that the nodes name.
void collect_with(const Choice* choice, const SymbolValues& symbols, const Plan& plan,
                  const Backend& backend, bool own_alone, bool is_beside = false) {
  Backend here = backend;
  const Graph& form = form_of(plan, choice == nullptr ? 0 : choice->form);
  TacticTable table;
  if (choice != nullptr) {
    table = table_of(*choice, form);
    here.tactics_here = &table;
  }
  const auto graph = ConcreteGraph::create(form, symbols);
  if (graph.ok()) Collector(here, own_alone, is_beside).collect(*graph);
}

void open_axes_of(const Graph& graph, CodeLibrary& library) {
  if (inner_axes_vary(graph)) open_all_axes(library);
}

/// A library with the given one's code and that of a choice's kernels under these shapes; null: of
/// the choice nearest to each.
std::shared_ptr<CodeLibrary> collect_under(const std::vector<SymbolValues>& shapes,
                                           const Plan& plan, const Backend& backend,
                                           const CodeLibrary& before, CodeLibrary::Use use,
                                           bool own_alone, const Choice* choice = nullptr) {
  auto library = std::make_shared<CodeLibrary>(before, use);
  if (library->collects_open()) open_axes_of(*plan.graph, *library);
  backend.constants->set_code(library);
  for (const SymbolValues& symbols : shapes)
    collect_with(choice != nullptr ? choice : nearest_choice(plan.choices, symbols), symbols, plan,
                 backend, own_alone);
  backend.constants->set_code(nullptr);
  return library;
}

}  // namespace

Status collect_code(Plan& plan, const Backend& backend, Logger& logger) {
  if (!backend.device->capabilities().compiles_kernels || backend.constants == nullptr) return {};
  Stopwatch watch;
  Backend quiet = backend;
  quiet.application = nullptr;
  using Use = CodeLibrary::Use;
  const std::vector<SymbolValues> points = plan_points(plan);
  const CodeLibrary none, &before = plan.code == nullptr ? none : *plan.code;
  // Where choices were made they name the kernels that are worth code of their own.
  const Use at_ends = plan.code == nullptr ? Use::kCollect : Use::kCollectOpen;
  auto library = collect_under(plan_ends(plan), plan, quiet, before, at_ends, false);
  if (points.size() > 1) {
    library = collect_under(points, plan, quiet, *library, Use::kCollectOpen, false);
    library = collect_under(plan_shapes(plan), plan, quiet, *library, Use::kCollectOpen, true);
  }
  if (const Choice open{.form = open_form_of(plan)}; open.form > 0)
    library = collect_under(broadcasts_of(plan, form_of(plan, open.form)), plan, quiet, *library,
                            Use::kCollectOpen, false, &open);
  plan.code = std::make_shared<CodeLibrary>(*library, Use::kLend);
  logger.verbose("Build times: code of {} kernels collected in {:.2f} s", plan.code->size(),
                 watch.lap());
  return {};
}

CodeAhead::CodeAhead(const Plan& plan, const Backend& backend)
    : plan_(plan),
      constants_(*backend.device),
      backend_(backend),
      library_(std::make_shared<CodeLibrary>()) {
  backend_.constants = &constants_;
  backend_.application = nullptr;
}

CodeAhead::~CodeAhead() {
  if (last_.valid()) last_.wait();
}

/// One choice after the other, each by several threads. Layers are timed in sequence meanwhile, and
/// kernels for that are not to wait.
void CodeAhead::begin(Choice choice, bool is_exact) {
  last_ =
      begin_aside([this, choice = std::move(choice), is_exact, before = std::exchange(last_, {})] {
        if (before.valid()) before.wait();
        collect(choice, is_exact);
      }).share();
}

/// Kernels of libraries are made where the plan's code is collected.
void CodeAhead::collect(const Choice& choice, bool is_exact) {
  using Use = CodeLibrary::Use;
  library_ = std::make_shared<CodeLibrary>(*library_, is_exact ? Use::kCollect : Use::kCollectOpen);
  if (!is_exact) open_axes_of(*plan_.graph, *library_);
  constants_.set_code(library_);
  collect_with(&choice, choice.symbols, plan_, backend_, true, true);
}

std::shared_ptr<CodeLibrary> CodeAhead::finish() {
  if (last_.valid()) last_.wait();
  return std::make_shared<CodeLibrary>(*library_, CodeLibrary::Use::kLend);
}

}  // namespace tenon
