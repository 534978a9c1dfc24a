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
  forms_ = {&layers.graph.graph()};
  for (const Node* node : layers.nodes) layers_.push_back({0, node, node->name});
  for (const Graph* form : shapes.forms) add_layers(*form);
  for (const Part part : {Part::kEnd, Part::kBetween}) left_[part].resize(layers_.size());
  add(Part::kEnd, layers.graph.symbols(), backend, threads);
  for (const SymbolValues& end : shapes.ends)
    if (end != layers.graph.symbols()) add(Part::kEnd, end, backend, threads);
  list_at_ends();
  for (const SymbolValues& shape : shapes.between) add(Part::kBetween, shape, backend, threads);
  for (const SymbolValues& shape : shapes.others) add(Part::kOther, shape, backend, threads);
}

void TrialsAhead::add_layers(const Graph& form) {
  const size_t number = forms_.size();
  forms_.push_back(&form);
  for (const auto& node : form.nodes())
    if (!node->is<Constant>() && !node->is<Dims>() && node->tactic != kViewTactic &&
        !is_control_flow(*node))
      layers_.push_back({number, node.get(), fmt::format("{} of form {}", node->name, number)});
}

void TrialsAhead::add(Part part, const SymbolValues& symbols, const Backend& backend, int threads) {
  // Which of the other shapes a form serves is not known yet.
  const size_t forms = part == Part::kOther ? 1 : forms_.size();
  std::vector<const ConcreteGraph*> here(forms_.size());
  for (size_t form = 0; form < forms; ++form)
    if (auto concrete = ConcreteGraph::create(*forms_[form], symbols); concrete.ok())
      here[form] = &graphs_.emplace_back(std::move(concrete).value());
  if (here[0] == nullptr) return;
  Shape& shape = shapes_.emplace_back(Shape{part, symbols, {}, {}});
  const size_t number = shapes_.size() - 1;
  in_ends_.push_back(part == Part::kEnd ? &ends_.add(symbols) : nullptr);
  in_all_.push_back(part == Part::kOther ? nullptr : &all_.add(symbols));
  for (size_t i = 0; i < layers_.size(); ++i) {
    auto& problem = shape.problems.emplace_back();
    std::string& key = shape.keys.emplace_back();
    const ConcreteGraph* const graph = here[layers_[i].form];
    if (graph == nullptr || !graph->resolved(*layers_[i].node)) continue;
    problem = graph->problem(*layers_[i].node, backend, threads);
    key = problem_key(*problem);
    places_[key].emplace_back(number, i);
    if (part != Part::kOther) ++left_[part][i];
  }
}

/// Beside the layers under the usual shapes: the same at the ends, and other layers of other forms.
void TrialsAhead::list_at_ends() {
  std::set<std::string> listed;
  for (const Shape& shape : shapes_)
    for (size_t i = 0; i < layers_.size(); ++i)
      if (layers_[i].form == 0 && shape.problems[i] && listed.insert(shape.keys[i]).second &&
          &shape != &shapes_.front())
        at_ends_.push_back(*shape.problems[i]);
  for (const Shape& shape : shapes_)
    for (size_t i = 0; i < layers_.size(); ++i)
      if (layers_[i].form != 0 && shape.problems[i] && listed.insert(shape.keys[i]).second)
        list_of_form(shape, *shape.problems[i]);
}

void TrialsAhead::list_of_form(const Shape& shape, const Problem& problem) {
  for (size_t i = 0; i < layers_.size() && layers_[i].form == 0; ++i)
    if (shape.problems[i] && has_equal_product(*shape.problems[i], problem)) {
      similar_[shape.keys[i]].push_back(&problem);
      return;
    }
  at_ends_.push_back(problem);
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
  return found == places_.end() ? layers_.size() : found->second.front().second;
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
      if (KnownShape* const shape = (*known)[number]) shape->near[layers_[layer].name] = near;
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
                      is_between ? ends_.around(shape.symbols, layers_[layer].name, kNearBetween)
                                 : all_.around(shape.symbols, layers_[layer].name, 1),
                      is_between ? kProposedBetween : Proposals{1}, !is_between});
  }
}

}  // namespace tenon
