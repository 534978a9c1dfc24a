#include "select/refine_choices.h"

#include <algorithm>
#include <optional>
#include <set>

#include "ops/application.h"
#include "ops/control_flow.h"
#include "plan/points.h"
#include "select/problem_key.h"
#include "select/sequence_tuning.h"

namespace tenon {
namespace {

/// A kernel has to be faster alone by so much, and all that are by this part of all layers' time.
constexpr double kFaster = 0.98, kWorth = 0.01;
/// Of a library's kernels, tried beside those of neighbours.
constexpr size_t kOfLibraries = 2;

/// Which kernels are tried.
enum class Tried : uint8_t {
  kMade,      ///< Kernels that take no time to make.
  kAndFirst,  ///< And the one that a tactic expects to be the best.
};

class Refiner {
 public:
  explicit Refiner(ChoiceMaking& making) : making_(making) {}

  /// Tries the kernels that refine() will ask for at these shapes, as far as the choices so far
  /// tell: all at once, for a few kernels take as long to make as those of many shapes side by
  /// side.
  Status try_ahead(const std::vector<SymbolValues>& points) {
    std::vector<std::unique_ptr<LayersUnder>> all;
    std::vector<Problem> problems;
    Serving serve;
    SelectOptions options = making_.options;
    options.offered.clear();
    options.proposals = kNoProposals;
    options.brief = true;
    for (const SymbolValues& point : points) {
      const Choice* const serving = nearest_choice(making_.plan.choices, point);
      if (serving == nullptr || serving->symbols == point) continue;
      known_ = &making_.known[static_cast<size_t>(serving->form)];
      auto layers = layers_of(*serving, point);
      if (!layers.ok()) continue;  // It will be told by refine().
      const std::vector<std::string> now = tactics_of(*serving, **layers);
      const Offers offers = offer_to(**layers, now, point, Tried::kAndFirst, options.offered);
      const std::vector<Problem>& more = offers.layers.problems;
      problems.insert(problems.end(), more.begin(), more.end());
      for (size_t i = 0; i < now.size(); ++i) {
        const Problem& problem = (*layers)->layers.problems[i];
        serve.try_emplace(problem_key(problem) + now[i], &problem, now[i]);
      }
      all.push_back(std::move(*layers));
    }
    TENON_TRY(try_candidates(problems, making_.backend, options, making_.cache, &making_.measurer));
    make(serve);
    return {};
  }

  /// The choice for these shapes; nothing where the one that serves them is as good.
  Result<std::optional<Choice>> refine(const SymbolValues& point) {
    const Choice* const serving = nearest_choice(making_.plan.choices, point);
    if (serving == nullptr) return std::optional<Choice>();
    known_ = &making_.known[static_cast<size_t>(serving->form)];
    TENON_ASSIGN(const auto all, layers_of(*serving, point));
    const std::vector<std::string> now = tactics_of(*serving, *all);
    std::vector<std::vector<std::string>> ways(1);
    TENON_ASSIGN(ways[0], others(*all, now, point));
    // Kernels of libraries lose in sequence, where ours start early behind each other.
    std::vector<std::string> without = ways[0];
    for (size_t i = 0; i < now.size(); ++i)
      if (is_library(making_.backend.origin_of(without[i]))) without[i] = now[i];
    if (without != ways[0]) ways.push_back(std::move(without));
    TENON_ASSIGN(const std::optional<size_t> fastest, fastest_of(*all, now, ways));
    if (!fastest) return std::optional<Choice>();
    const std::vector<std::string>& then = ways[*fastest];
    Choice choice{point, {}, serving->form};
    KnownShape& known = known_->add(point);
    known.milliseconds = whole_;
    for (size_t i = 0; i < then.size(); ++i) {
      const Node& node = *all->layers.nodes[i];
      known.near[node.name] = {then[i]};
      if (then[i] != node.tactic) choice.tactics[all->places[i]] = then[i];
    }
    return std::optional(std::move(choice));
  }

 private:
  /// Problems and the kernels that serve them, each pair once, by their texts.
  using Serving = std::map<std::string, std::pair<const Problem*, std::string>>;

  /// For their code, which sequences and the plan need: that of all extents has forms too, such as
  /// for rows that fill all tiles.
  void make(const Serving& kernels) const {
    std::vector<const Serving::mapped_type*> all;
    for (const auto& [text, kernel] : kernels)
      if (!is_library(making_.backend.origin_of(kernel.second))) all.push_back(&kernel);
    for_each_node_parallel(
        all.size(), [&](size_t i) -> const Node& { return all[i]->first->operation.node(); },
        [&](size_t i) {
          const auto& [problem, tactic] = *all[i];
          const Tactic* const row = making_.backend.row_of(tactic);
          // Kernels that fail here fail for whoever runs the shape, and it is told there.
          if (row != nullptr && making_.backend.device->activate().ok())
            static_cast<void>(create_kernel(*row, *problem, split_tactic(tactic).config).ok());
        });
  }

  Result<std::unique_ptr<LayersUnder>> layers_of(const Choice& choice,
                                                 const SymbolValues& symbols) const {
    return LayersUnder::make(form_of(making_.plan, choice.form), making_.backend,
                             making_.options.threads, symbols);
  }

  static std::vector<std::string> tactics_of(const Choice& choice, const LayersUnder& all) {
    std::vector<std::string> tactics;
    for (size_t i = 0; i < all.places.size(); ++i) {
      const auto found = choice.tactics.find(all.places[i]);
      tactics.push_back(found == choice.tactics.end() ? all.layers.nodes[i]->tactic
                                                      : found->second);
    }
    return tactics;
  }

  /// Adds what tactics propose for the problem itself: of ours the kernel that each expects to be
  /// the best, of libraries that plan nothing for each shape a few, where one serves already.
  void add_proposals(const Node& node, const Problem& problem, bool takes_libraries,
                     Tried proposals, std::vector<std::string>& offered) const {
    std::set<std::string_view> names;
    for (const std::string& tactic : offered) names.insert(split_tactic(tactic).name);
    std::vector<std::string> more;
    for (const Tactic& row : making_.backend.tactics) {
      const bool of_library = is_library(row.traits.origin);
      const bool is_other =
          of_library ? !takes_libraries || row.traits.planned_each : !names.contains(row.name);
      if (is_other || !fits(row, problem)) continue;
      const std::vector<std::string> configs = row.configs(problem);
      for (size_t i = 0; i < std::min(configs.size(), of_library ? kOfLibraries : 1); ++i)
        more.push_back(join_tactic(row.name, configs[i]));
      if (of_library) continue;
      if (proposals == Tried::kAndFirst) known_->note_tried(node.name, more.back());
      if (!known_->was_tried(node.name, more.back())) more.pop_back();
    }
    for (std::string& tactic : more)
      if (std::ranges::find(offered, tactic) == offered.end()) offered.push_back(std::move(tactic));
  }

  /// The layers that have a choice, and the kernels to try for each: its own, the best of both
  /// neighbours, and what tactics propose. Which is the best goes up and down with the rows of
  /// tiles, and one of these is near it (docs/notes/performance.md).
  struct Offers {
    std::vector<size_t> open;  ///< Of all layers.
    Layers layers;
  };
  Offers offer_to(const LayersUnder& all, const std::vector<std::string>& now,
                  const SymbolValues& point, Tried proposals, TacticLists& by_problem) const {
    const TacticLists near = known_->around(point, 1);
    const bool takes_libraries = std::ranges::any_of(now, [&](const std::string& tactic) {
      return is_library(making_.backend.origin_of(tactic));
    });
    Offers offers{{}, {all.graph, {}, {}}};
    for (size_t i = 0; i < now.size(); ++i) {
      const Node& node = *all.layers.nodes[i];
      const Problem& problem = all.layers.problems[i];
      std::vector<std::string> offered;
      if (const auto found = near.find(node.name); found != near.end()) offered = found->second;
      std::erase(offered, now[i]);
      offered.insert(offered.begin(), now[i]);
      add_proposals(node, problem, takes_libraries, proposals, offered);
      if (offered.size() < 2) continue;
      offers.open.push_back(i);
      offers.layers.nodes.push_back(all.layers.nodes[i]);
      offers.layers.problems.push_back(problem);
      by_problem.try_emplace(problem_key(problem), std::move(offered));
    }
    return offers;
  }

  /// Tactics that are faster alone in place of the ones of `now`, and others for problems that the
  /// ones of `now` do not take here; the same where that is not worth it.
  Result<std::vector<std::string>> others(const LayersUnder& all,
                                          const std::vector<std::string>& now,
                                          const SymbolValues& point) {
    SelectOptions options = making_.options;
    options.offered.clear();
    options.proposals = kNoProposals;
    options.brief = true;
    const auto [open, layers] = offer_to(all, now, point, Tried::kMade, options.offered);
    if (open.empty()) return now;
    TENON_ASSIGN(const Tactics timed, choose_tactics(layers, making_.backend, options,
                                                     making_.cache, false, &making_.measurer));
    std::vector<std::string> then = now;
    double gain = 0, whole = 0;
    bool runs = true;
    for (size_t k = 0; k < open.size(); ++k) {
      const auto& times = timed.milliseconds[k];
      const auto own = times.find(now[open[k]]), best = times.find(timed.best[k]);
      if (best == times.end()) continue;
      if (own == times.end()) {  // Its tactic takes fewer rows, say.
        then[open[k]] = timed.best[k];
        runs = false;
        continue;
      }
      whole += own->second;
      if (best->second >= own->second * kFaster) continue;
      gain += own->second - best->second;
      then[open[k]] = timed.best[k];
    }
    whole_ = std::max(whole, known_->milliseconds_at(point));
    return runs && gain < whole_ * kWorth ? now : then;
  }

  /// Nothing where none of the ways is clearly faster than `now`.
  Result<std::optional<size_t>> fastest_of(const LayersUnder& all,
                                           const std::vector<std::string>& now,
                                           std::vector<std::vector<std::string>>& ways) {
    while (!ways.empty() && ways.back() == now) ways.pop_back();
    if (ways.empty()) return std::optional<size_t>();
    if (!all.in_sequence || all.layers.nodes.size() < 2 ||
        !making_.backend.device->capabilities().replays_launches)
      return std::optional<size_t>(0);
    const std::map<std::string, Rivals> none;
    const SequenceTuning tuning{
        making_.backend, making_.options, making_.cache, making_.measurer, all.layers, none, {}};
    return fastest_in_sequence(tuning, now, ways);
  }

  ChoiceMaking& making_;
  KnownShapes* known_ = nullptr;  ///< Those of the form that serves the latest shapes.
  double whole_ = 0;              ///< Milliseconds of all layers under the latest shapes, about.
};

/// Shapes whose kernels were found to be good are not left to others that were chosen later, for
/// shapes that are nearer: as `kept` they get a choice of their own where these would serve them.
void keep_serving(std::vector<Choice>& choices, std::vector<Choice> kept,
                  const std::function<void(const Choice&)>& added) {
  const auto is_taken = [&](const Choice& choice) {
    const Choice& now = *nearest_choice(choices, choice.symbols);
    return now.form != choice.form || now.tactics != choice.tactics;
  };
  // A choice that is added may take other shapes.
  for (auto taken = std::ranges::find_if(kept, is_taken); taken != kept.end();
       taken = std::ranges::find_if(kept, is_taken)) {
    choices.push_back(std::move(*taken));
    kept.erase(taken);
    added(choices.back());
  }
}

}  // namespace

Result<std::unique_ptr<LayersUnder>> LayersUnder::make(const Graph& form, const Backend& backend,
                                                       int threads, const SymbolValues& symbols) {
  TENON_ASSIGN(ConcreteGraph concrete, ConcreteGraph::create(form, symbols));
  auto made = std::unique_ptr<LayersUnder>(new LayersUnder(std::move(concrete)));
  int place = -1;
  for (const auto& node : form.nodes()) {
    ++place;
    made->in_sequence &= !is_control_flow(*node);
    if (node->tactic.empty() || node->tactic == kViewTactic || is_control_flow(*node) ||
        !made->graph.resolved(*node))
      continue;
    made->layers.nodes.push_back(node.get());
    made->layers.problems.push_back(made->graph.problem(*node, backend, threads));
    made->places.push_back(place);
  }
  return made;
}

Status refine_choices(ChoiceMaking& making, const std::function<void(const Choice&)>& added) {
  Refiner refiner(making);
  const std::vector<SymbolValues> points = plan_trials(making.plan);
  if (making.watch == nullptr || !making.watch->has_budget()) TENON_TRY(refiner.try_ahead(points));
  std::vector<Choice>& choices = making.plan.choices;
  std::vector<Choice> kept;
  for (const SymbolValues& point : points) {
    const Choice* const serving = nearest_choice(choices, point);
    if (serving == nullptr || serving->symbols == point) continue;
    if (making.watch != nullptr && making.watch->tuning_is_over()) break;
    Result<std::optional<Choice>> choice = refiner.refine(point);
    // What does not run under these shapes is told to who runs it.
    if (!choice.ok() && choice.error().kind != ErrorKind::kUnsupported) return choice.error();
    if (!choice.ok()) continue;
    if (!choice->has_value()) {
      kept.push_back({point, serving->tactics, serving->form});
      continue;
    }
    choices.push_back(std::move(**choice));
    added(choices.back());
  }
  keep_serving(choices, std::move(kept), added);
  return {};
}

}  // namespace tenon
