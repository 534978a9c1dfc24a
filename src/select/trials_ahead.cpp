#include "select/trials_ahead.h"

#include <algorithm>

#include "ops/control_flow.h"
#include "ops/dims.h"
#include "select/expected_time.h"
#include "select/problem_key.h"

namespace tenon {
namespace {

/// Their products are of the same extents, whatever else is computed with them.
bool has_equal_product(const Problem& a, const Problem& b) {
  if (a.outputs.empty() || b.outputs.empty() || !has_product(a) || !has_product(b)) return false;
  const KernelWork of_a = work_of(a), of_b = work_of(b);
  return of_a.operations == of_b.operations && of_a.kind == of_b.kind && of_a.type == of_b.type &&
         of_a.form == of_b.form && a.output().extents == b.output().extents;
}

}  // namespace

TrialsAhead::TrialsAhead(const Layers& layers, const RangeShapes& shapes, const Backend& backend,
                         int threads) {
  std::vector<const Node*> nodes(layers.nodes.begin(), layers.nodes.end());
  for (const Node* node : nodes) names_.push_back(node->name);
  for (const Part part : {Part::kEnd, Part::kBetween}) left_[part].resize(nodes.size());
  const Graph& graph = layers.graph.graph();
  add(Part::kEnd, layers.graph.symbols(), graph, nodes, backend, threads);
  for (const SymbolValues& end : shapes.ends)
    if (end != layers.graph.symbols()) add(Part::kEnd, end, graph, nodes, backend, threads);
  for (size_t i = 1; i < shapes_.size(); ++i)
    for (const auto& problem : shapes_[i].problems)
      if (problem) at_ends_.push_back(*problem);
  for (size_t i = 0; i < shapes_.size(); ++i)
    for (const Graph* form : shapes.forms) add_form(*form, i, backend, threads);
  for (const SymbolValues& shape : shapes.between)
    add(Part::kBetween, shape, graph, nodes, backend, threads);
  for (const SymbolValues& shape : shapes.others)
    add(Part::kOther, shape, graph, nodes, backend, threads);
}

void TrialsAhead::add(Part part, const SymbolValues& symbols, const Graph& graph,
                      std::span<const Node* const> nodes, const Backend& backend, int threads) {
  auto concrete = ConcreteGraph::create(graph, symbols);
  if (!concrete.ok()) return;
  const ConcreteGraph& here = graphs_.emplace_back(std::move(concrete).value());
  Shape& shape = shapes_.emplace_back(Shape{part, symbols, {}, {}});
  const size_t number = shapes_.size() - 1;
  in_ends_.push_back(part == Part::kEnd ? &ends_.add(symbols) : nullptr);
  in_all_.push_back(part == Part::kOther ? nullptr : &all_.add(symbols));
  for (size_t layer = 0; layer < nodes.size(); ++layer) {
    auto& problem = shape.problems.emplace_back();
    std::string& key = shape.keys.emplace_back();
    if (!here.resolved(*nodes[layer])) continue;
    problem = here.problem(*nodes[layer], backend, threads);
    key = problem_key(*problem);
    places_[key].emplace_back(number, layer);
    if (part != Part::kOther) ++left_[part][layer];
  }
}

void TrialsAhead::add_form(const Graph& form, size_t number, const Backend& backend, int threads) {
  auto concrete = ConcreteGraph::create(form, shapes_[number].symbols);
  if (!concrete.ok()) return;
  const ConcreteGraph& here = graphs_.emplace_back(std::move(concrete).value());
  const Shape& shape = shapes_[number];
  for (const auto& node : form.nodes()) {
    if (node->is<Constant>() || node->is<Dims>() || node->tactic == kViewTactic ||
        is_control_flow(*node) || !here.resolved(*node))
      continue;
    Problem problem = here.problem(*node, backend, threads);
    std::string key = problem_key(problem);
    if (places_.contains(key) || !keys_of_forms_.insert(std::move(key)).second) continue;
    const Problem& own = of_forms_.emplace_back(std::move(problem));
    const auto similar = std::ranges::find_if(shape.problems, [&](const auto& other) {
      return other.has_value() && has_equal_product(*other, own);
    });
    if (similar == shape.problems.end())
      at_ends_.push_back(own);
    else
      similar_[shape.keys[static_cast<size_t>(similar - shape.problems.begin())]].push_back(&own);
  }
}

RangeEnd TrialsAhead::end_of(const std::string& key) const {
  const auto found = places_.find(key);
  if (found == places_.end()) return RangeEnd::kNone;
  const auto& [number, layer] = found->second.front();
  return shapes_[number].part == Part::kEnd
             ? range_end(shapes_[number].symbols, shapes_.front().symbols)
             : RangeEnd::kNone;
}

std::vector<std::string> TrialsAhead::usual_of(const std::string& key) const {
  std::set<std::string> keys;
  if (const auto found = places_.find(key); found != places_.end())
    for (const auto& [number, layer] : found->second) keys.insert(shapes_.front().keys[layer]);
  return {keys.begin(), keys.end()};
}

std::string TrialsAhead::code_of(const std::string& key) const {
  const auto found = places_.find(key);
  if (found == places_.end()) return key;
  const std::string& usual = shapes_.front().keys[found->second.front().second];
  return usual.empty() ? key : usual;
}

size_t TrialsAhead::layer_of(const std::string& key) const {
  const auto found = places_.find(key);
  return found == places_.end() ? names_.size() : found->second.front().second;
}

std::vector<TrialsAhead::Wanted> TrialsAhead::decided(const std::string& key,
                                                      std::span<const Candidate> best_first,
                                                      const Rivals& rivals) {
  std::vector<Wanted> wanted;
  const auto found = places_.find(key);
  if (found == places_.end() || best_first.empty()) return wanted;
  std::map<std::string, double> times;
  for (const Candidate& candidate : best_first)
    if (candidate.milliseconds >= 0) times[candidate.tactic] = candidate.milliseconds;
  const std::vector<std::string> near = near_of(best_first.front().tactic, rivals.tactics, times);
  if (const auto similar = similar_.find(key); similar != similar_.end()) {
    std::vector<std::string> offered = near;
    if (!rivals.own.empty() && std::ranges::find(offered, rivals.own) == offered.end())
      offered.push_back(rivals.own);
    for (const Problem* problem : similar->second)
      wanted.push_back({problem, offered, kProposedForForm, false});
  }
  for (const auto& [number, layer] : found->second) {
    const Part part = shapes_[number].part;
    for (const auto* known : {&in_ends_, &in_all_})
      if (KnownShape* const shape = (*known)[number]) shape->near[names_[layer]] = near;
    if (part == Part::kOther || --left_[part][layer] > 0) continue;
    want(part == Part::kEnd ? Part::kBetween : Part::kOther, layer, wanted);
    // There are none between the ends.
    if (part == Part::kEnd && left_[Part::kBetween][layer] == 0) want(Part::kOther, layer, wanted);
  }
  places_.erase(found);
  return wanted;
}

void TrialsAhead::want(Part part, size_t layer, std::vector<Wanted>& wanted) {
  const bool is_between = part == Part::kBetween;
  for (const Shape& shape : shapes_) {
    if (shape.part != part || !shape.problems[layer] || !wanted_.insert(shape.keys[layer]).second)
      continue;
    wanted.push_back({&*shape.problems[layer],
                      is_between ? ends_.around(shape.symbols, names_[layer], kNearBetween)
                                 : all_.around(shape.symbols, names_[layer], 1),
                      is_between ? kProposedBetween : Proposals{1}, !is_between});
  }
}

}  // namespace tenon
