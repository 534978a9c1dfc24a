#include "select/collect_code.h"

#include <deque>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "base/arithmetic.h"
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

/// The kernels of a choice under some shapes, or the nodes' own, of the graph and of its
/// bodies, which are made for their code.
class Collector {
 public:
  /// With `own_alone` only kernels of our own; with `is_beside` none that calls the application,
  /// which may be waiting for the thread that builds.
  Collector(const SymbolValues& symbols, const Choice* choice, const Plan& plan,
            const Backend& backend, bool own_alone, bool is_beside)
      : symbols_(symbols),
        form_(form_of(plan, choice == nullptr ? 0 : choice->form)),
        backend_(backend),
        own_alone_(own_alone),
        is_beside_(is_beside) {
    if (choice == nullptr) return;
    table_ = table_of(*choice, form_);
    backend_.tactics_here = &table_;
  }
  Collector(const Collector&) = delete;

  void list() {
    if (auto graph = ConcreteGraph::create(form_, symbols_); graph.ok()) list(std::move(*graph));
  }

  size_t size() const { return layers_.size(); }
  const Node& node(size_t i) const { return *layers_[i].node; }

  /// What fails here fails for whoever runs the shape, and is told there.
  void make(size_t i) const {
    const auto& [graph, node] = layers_[i];
    if (!backend_.device->activate().ok()) return;
    const Problem problem = graph->problem(*node, backend_, 1);
    const bool of_library = is_library(backend_.origin_of(backend_.tactic_of(*node)));
    if (!own_alone_ || !of_library) static_cast<void>(make_kernel(backend_, *node, problem).ok());
    if (of_library) make_substitute(problem);
  }

 private:
  struct Layer {
    const ConcreteGraph* graph;
    const Node* node;
  };

  void list(ConcreteGraph concrete) {
    const ConcreteGraph& graph = graphs_.emplace_back(std::move(concrete));
    std::map<std::string, const Node*> layers;  // Equal ones once.
    for (const auto& node : graph.graph().nodes()) {
      if (node->is<Constant>() || node->is<Dims>() || graph.is_view(*node)) continue;
      if (is_beside_ && calls_application(*node)) continue;
      if (is_control_flow(*node))
        list_bodies(graph, *node);
      else if (graph.resolved(*node))
        layers.emplace(code_key(graph, *node), node.get());
    }
    for (const auto& [key, node] : layers) layers_.push_back({&graph, node});
  }

  void list_bodies(const ConcreteGraph& graph, const Node& node) {
    for (int body = 0; body < static_cast<int>(node.bodies.size()); ++body) {
      if (!may_run(node, body)) continue;
      if (auto inside = concrete_body(graph, node, body); inside.ok()) list(std::move(*inside));
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

  /// A library may be missing where the plan runs, or lack the compiler that it makes some kernels
  /// with: the kernel that the layer runs by then needs code too.
  void make_substitute(const Problem& problem) const {
    for (const Tactic& tactic : backend_.tactics)
      if (tactic.traits.origin == TacticOrigin::kOwn && fits(tactic, problem) &&
          create_kernel(tactic, problem, tactic.configs(problem).front()).ok())
        return;
  }

  const SymbolValues& symbols_;
  const Graph& form_;
  TacticTable table_;
  Backend backend_;
  const bool own_alone_, is_beside_;
  std::deque<ConcreteGraph> graphs_;
  std::vector<Layer> layers_;
};

/// The kernels of each collector, all side by side.
void make_all(std::span<const std::unique_ptr<Collector>> collectors) {
  std::vector<std::pair<const Collector*, size_t>> all;
  for (const auto& collector : collectors)
    for (size_t i = 0; i < collector->size(); ++i) all.emplace_back(collector.get(), i);
  for_each_node_parallel(
      all.size(), [&](size_t i) -> const Node& { return all[i].first->node(all[i].second); },
      [&](size_t i) { all[i].first->make(all[i].second); });
}

void open_axes_of(const Graph& graph, CodeLibrary& library) {
  if (inner_axes_vary(graph)) open_all_axes(library);
}

/// Makes the kernels of the choice that is nearest to each of these shapes, where there are
/// choices. Each batch of shapes is of all of the range: most code is new with the first one, whose
/// kernels are compiled side by side.
void make_under(const std::vector<SymbolValues>& shapes, const std::vector<Choice>& choices,
                const Plan& plan, const Backend& backend, bool own_alone, bool is_beside = false) {
  constexpr size_t kMost = 64;  // Graphs of so many shapes are kept at a time.
  const size_t batches = ceil_div(shapes.size(), kMost);
  for (size_t batch = 0; batch < batches; ++batch) {
    std::vector<std::unique_ptr<Collector>> collectors;
    for (size_t i = batch; i < shapes.size(); i += batches)
      collectors.push_back(std::make_unique<Collector>(
          shapes[i], nearest_choice(choices, shapes[i]), plan, backend, own_alone, is_beside));
    for_each_parallel(collectors.size(), helper_threads(),
                      [&](size_t i) { collectors[i]->list(); });
    make_all(collectors);
  }
}

/// A library with the given one's code and that of the choices' kernels under these shapes.
std::shared_ptr<CodeLibrary> collect_under(const std::vector<SymbolValues>& shapes,
                                           const std::vector<Choice>& choices, const Plan& plan,
                                           const Backend& backend, const CodeLibrary& before,
                                           CodeLibrary::Use use, bool own_alone) {
  auto library = std::make_shared<CodeLibrary>(before, use);
  if (library->collects_open()) open_axes_of(*plan.graph, *library);
  backend.constants->set_code(library);
  make_under(shapes, choices, plan, backend, own_alone);
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
  auto library = collect_under(plan_ends(plan), plan.choices, plan, quiet, before, at_ends, false);
  const auto add = [&](const std::vector<SymbolValues>& shapes, const std::vector<Choice>& choices,
                       bool own_alone) {
    library = collect_under(shapes, choices, plan, quiet, *library, Use::kCollectOpen, own_alone);
  };
  if (points.size() > 1) {
    add(points, plan.choices, false);
    add(plan_shapes(plan), plan.choices, true);
  }
  if (const Choice open{.form = open_form_of(plan)}; open.form > 0)
    add(broadcasts_of(plan, form_of(plan, open.form)), {open}, false);
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

/// One after the other, each by several threads. Layers are timed in sequence meanwhile, and
/// kernels for that are not to wait.
void CodeAhead::begin(std::vector<SymbolValues> shapes, std::vector<Choice> choices,
                      bool is_exact) {
  last_ = begin_aside([this, shapes = std::move(shapes), choices = std::move(choices), is_exact,
                       before = std::exchange(last_, {})] {
            if (before.valid()) before.wait();
            collect(shapes, choices, is_exact);
          }).share();
}

/// Kernels of libraries are made where the plan's code is collected.
void CodeAhead::collect(const std::vector<SymbolValues>& shapes, const std::vector<Choice>& choices,
                        bool is_exact) {
  using Use = CodeLibrary::Use;
  library_ = std::make_shared<CodeLibrary>(*library_, is_exact ? Use::kCollect : Use::kCollectOpen);
  if (!is_exact) open_axes_of(*plan_.graph, *library_);
  constants_.set_code(library_);
  make_under(shapes, choices, plan_, backend_, true, true);
}

std::shared_ptr<CodeLibrary> CodeAhead::finish() {
  if (last_.valid()) last_.wait();
  return std::make_shared<CodeLibrary>(*library_, CodeLibrary::Use::kLend);
}

}  // namespace tenon
