#include "select/choices.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/stopwatch.h"
#include "plan/points.h"
#include "select/collect_code.h"
#include "select/effort.h"
#include "select/refine_choices.h"

namespace tenon {
namespace {

std::string to_string(const SymbolValues& symbols) {
  std::string text;
  for (const auto& [name, value] : symbols)
    text += fmt::format("{}{}={}", text.empty() ? "" : ", ", name, value);
  return text;
}

/// Kernels that are tried in sequence in place of a layer's best, which seldom pays there: at the
/// ends there are more rivals, and their winners are among the kernels that are tried here.
constexpr size_t kRivalsBetween = 1;
/// Another form of the graph has to be faster by so much.
constexpr double kClearly = 0.99;
/// What a form may win by kernels that are tried in sequence.
constexpr double kTuning = 1.05;
/// What may be lost by the other form without a search for the shapes from which on it is better.
constexpr double kLoss = 0.02;

/// Milliseconds that a kernel by code for all extents takes longer, as measured at small batches of
/// six networks (docs/notes/performance.md), and the part of a sequence for which all of its
/// kernels are compiled once more, for the shapes themselves.
constexpr double kOpenCosts = 1e-4, kWorthExact = 0.02;

class Chooser {
 public:
  Chooser(Plan& plan, const Backend& backend, const SelectOptions& options, TimingCache& cache)
      : plan_(plan),
        backend_(backend),
        options_(options),
        watch_(options.watch),
        cache_(cache),
        measurer_(backend, options.threads, true),
        code_(plan, backend) {
    known_.resize(plan.forms.size() + 1);
    options_.progress = nullptr;
    options_.watch = nullptr;
    options_.editable_cache = false;
    options_.warm = true;
    options_.beside = {};
    options_.after_trials = nullptr;
  }

  Status run(const std::vector<SymbolValues>& points) {
    TENON_TRY(choose(plan_ends(plan_), false));
    TENON_TRY(choose(points, true));
    if (known_.size() > 1) TENON_TRY(find_changes_of_form());
    options_.end = RangeEnd::kNone;
    code_.begin(plan_shapes(plan_), plan_.choices, false);  // Few others are chosen from here on.
    ChoiceMaking making{plan_, backend_, options_, cache_, measurer_, known_, watch_};
    TENON_TRY(refine_choices(making, [this](const Choice& choice) { take_code(choice, false); }));
    Stopwatch watch;
    plan_.code = code_.finish();
    if (options_.logger != nullptr)
      options_.logger->verbose("Build times: waited for the code of choices for {:.2f} s",
                               watch.lap());
    drop_unused_forms();
    return {};
  }

 private:
  Status choose(const std::vector<SymbolValues>& points, bool are_between) {
    if (are_between) TENON_TRY(try_together(points));
    for (const SymbolValues& point : points) {
      if (has_choice(point)) continue;
      if (watch_ != nullptr && watch_->tuning_is_over()) return {};
      TENON_ASSIGN(const std::vector<Timed> forms, time_forms(point, are_between));
      const Timed* best = nullptr;
      for (const Timed& timed : forms) {
        const bool is_better = best == nullptr || is_faster(timed, *best);
        if (best != nullptr)
          leads_[point] = lead_of(is_better ? timed : *best, is_better ? *best : timed);
        if (is_better) best = &timed;
        take(timed);
      }
      if (best == nullptr) continue;
      plan_.choices.push_back(choice_of(*best));
      take_code(plan_.choices.back(), !are_between && wants_exact(*best));
    }
    return {};
  }

  bool has_choice(const SymbolValues& point) const {
    return std::ranges::any_of(plan_.choices,
                               [&](const Choice& choice) { return choice.symbols == point; });
  }

  /// Shapes between others do not wait for kernels of each other: the kernels that their neighbours
  /// offer now are made and timed at once. choose_under() finds their times.
  Status try_together(const std::vector<SymbolValues>& points) {
    std::vector<std::unique_ptr<LayersUnder>> all;
    std::vector<Problem> problems;
    options_.offered.clear();
    options_.proposals = proposed_between_;
    for (const SymbolValues& point : points) {
      if (has_choice(point)) continue;
      for (const int form : forms_at(point, true)) {
        auto layers = LayersUnder::make(form_of(plan_, form), backend_, options_.threads, point);
        if (!layers.ok()) continue;
        TacticLists& lists = between_[{point, form}];
        lists = known_[static_cast<size_t>(form)].around(point, kNearBetween);
        offer(lists, (*layers)->layers, options_.offered);
        const std::vector<Problem>& more = (*layers)->layers.problems;
        problems.insert(problems.end(), more.begin(), more.end());
        all.push_back(std::move(*layers));
      }
    }
    return try_candidates(problems, backend_, options_, cache_, &measurer_);
  }

  /// A form under some shapes.
  struct Timed {
    SymbolValues point;
    int form;
    std::unique_ptr<LayersUnder> all;
    Tactics tactics;
    std::optional<double> sequence() const { return tactics.sequence; }
  };
  static bool is_faster(const Timed& form, const Timed& than) {
    return form.sequence() && than.sequence() && *form.sequence() < *than.sequence() * kClearly;
  }

  /// Forms that are far from the fastest one, each with the kernels that are the best alone, are
  /// not tuned.
  Result<std::vector<Timed>> time_forms(const SymbolValues& point, bool is_between) {
    const std::set<int> forms = forms_at(point, is_between);
    const size_t rivals = is_between ? kRivalsBetween : kRangeRivals;
    std::vector<Timed> all;
    for (const int form : forms) {
      Result<Timed> timed = choose_under(point, form, is_between, forms.size() > 1 ? 0 : rivals);
      // What does not run under these shapes is told to who runs it.
      if (!timed.ok() && timed.error().kind != ErrorKind::kUnsupported) return timed.error();
      if (timed.ok()) all.push_back(std::move(*timed));
    }
    if (forms.size() < 2) return all;
    double least = effort::kFailed;
    for (const Timed& timed : all) least = std::min(least, timed.sequence().value_or(least));
    for (Timed& timed : all)
      if (!timed.sequence() || *timed.sequence() <= least * kTuning) {
        TENON_ASSIGN(timed, choose_under(point, timed.form, is_between, rivals));
      }
    return all;
  }
  /// The part by which a form is faster than the other one.
  static double lead_of(const Timed& form, const Timed& other) {
    return form.sequence() && other.sequence() ? *other.sequence() / *form.sequence() - 1 : 0;
  }

  /// Between the ends forms by which neither neighbour runs are not tried.
  std::set<int> forms_at(const SymbolValues& point, bool is_between) const {
    std::set<int> forms;
    if (!is_between) {
      for (int form = 0; form < static_cast<int>(known_.size()); ++form) forms.insert(form);
      return forms;
    }
    for (const bool larger : {false, true})
      if (const Choice* const side = neighbour(point, larger)) forms.insert(side->form);
    return forms;
  }

  /// Whether the form of the nearer one of two neighbours may be far from the best half way, where
  /// the lead of the one form has become that of the other.
  bool may_lose_between(const Choice& smaller, const Choice& larger) const {
    const auto a = leads_.find(smaller.symbols), b = leads_.find(larger.symbols);
    return a == leads_.end() || b == leads_.end() || std::abs(a->second - b->second) / 2 > kLoss;
  }

  /// Chooses between neighbours that run by different forms, in the middle of the gap there.
  Status find_changes_of_form() {
    // One shape after the other: a few more kernels would take a second to make each time.
    proposed_between_ = kNoProposals;
    std::vector<SymbolValues> trials = plan_trials(plan_);
    while (!trials.empty()) {
      std::vector<SymbolValues> between;
      std::pair<const Choice*, const Choice*> sides;
      for (const SymbolValues& point : trials) {
        const std::pair here(neighbour(point, false), neighbour(point, true));
        if (here.first == nullptr || here.second == nullptr ||
            here.first->form == here.second->form || here.first->symbols == point ||
            !may_lose_between(*here.first, *here.second))
          continue;
        if (between.empty()) sides = here;
        if (here == sides) between.push_back(point);
      }
      if (between.empty()) return {};
      std::ranges::stable_sort(between, {}, [&](const SymbolValues& point) {
        return shape_distance(sides.first->symbols, point);
      });
      const SymbolValues middle = between[between.size() / 2];
      std::erase(trials, middle);
      TENON_TRY(choose({middle}, true));
    }
    return {};
  }

  const Choice* neighbour(const SymbolValues& point, bool larger) const {
    const Choice* nearest = nullptr;
    for (const Choice& choice : plan_.choices) {
      if (is_larger(choice.symbols, point) != larger) continue;
      if (nearest == nullptr ||
          shape_distance(choice.symbols, point) < shape_distance(nearest->symbols, point))
        nearest = &choice;
    }
    return nearest;
  }

  /// Bodies keep the kernels that they have.
  Result<Timed> choose_under(const SymbolValues& point, int form, bool is_between, size_t rivals) {
    TENON_ASSIGN(auto all,
                 LayersUnder::make(form_of(plan_, form), backend_, options_.threads, point));
    options_.offered.clear();
    if (is_between) offer(between_[{point, form}], all->layers, options_.offered);
    options_.proposals = is_between ? proposed_between_ : kOneOfFirst;
    options_.rivals = rivals;
    options_.of_form = form != 0;
    options_.end = is_between ? RangeEnd::kNone : range_end(point, plan_ends(plan_).front());
    TENON_ASSIGN(Tactics tactics, choose_tactics(all->layers, backend_, options_, cache_,
                                                 all->in_sequence, &measurer_));
    if (options_.logger != nullptr && known_.size() > 1 && tactics.sequence)
      options_.logger->verbose("Form {} of the graph under {}: {:.4f} ms in sequence", form,
                               to_string(point), *tactics.sequence);
    return Timed{point, form, std::move(all), std::move(tactics)};
  }

  static bool wants_exact(const Timed& timed) {
    const auto kernels = static_cast<double>(timed.all->layers.nodes.size());
    return !timed.sequence() || kernels * kOpenCosts > *timed.sequence() * kWorthExact;
  }

  void take(const Timed& timed) {
    KnownShapes& shapes = known_[static_cast<size_t>(timed.form)];
    KnownShape& known = shapes.add(timed.point);
    for (size_t i = 0; i < timed.all->places.size(); ++i)
      shapes.take(known, timed.all->layers.nodes[i]->name, timed.tactics, i);
  }

  static Choice choice_of(const Timed& timed) {
    Choice choice{timed.point, {}, timed.form};
    for (size_t i = 0; i < timed.all->places.size(); ++i)
      if (const std::string& best = timed.tactics.best[i];
          best != timed.all->layers.nodes[i]->tactic)
        choice.tactics[timed.all->places[i]] = best;
    return choice;
  }

  void take_code(const Choice& choice, bool is_exact) {
    if (options_.logger != nullptr)
      options_.logger->verbose("Kernels under {}: {} others than under the usual shapes{}",
                               to_string(choice.symbols), choice.tactics.size(),
                               choice.form == 0 ? "" : fmt::format(", form {}", choice.form));
    code_.begin({choice.symbols}, {choice}, is_exact);
  }

  /// The graphs of all are needed until their code is there.
  void drop_unused_forms() {
    std::vector<int> numbers = {0};
    std::vector<std::unique_ptr<Graph>> kept;
    for (size_t i = 0; i < plan_.forms.size(); ++i) {
      const auto serves = [&](const Choice& choice) {
        return choice.form == static_cast<int>(i) + 1;
      };
      const bool is_used = std::ranges::any_of(plan_.choices, serves);
      if (is_used) kept.push_back(std::move(plan_.forms[i]));
      numbers.push_back(static_cast<int>(kept.size()));
    }
    plan_.forms = std::move(kept);
    for (Choice& choice : plan_.choices) choice.form = numbers[static_cast<size_t>(choice.form)];
  }

  Plan& plan_;
  const Backend& backend_;
  SelectOptions options_;
  BuildWatch* const watch_;
  std::vector<KnownShapes> known_;  ///< One a form.
  Proposals proposed_between_ = kProposedBetween;
  std::map<SymbolValues, double> leads_;  ///< Of the form that serves, where others were tried.
  /// By shapes between others, and a form: the kernels that their neighbours offer.
  std::map<std::pair<SymbolValues, int>, TacticLists> between_;
  TimingCache& cache_;
  Measurer measurer_;
  CodeAhead code_;
};

}  // namespace

Status choose_by_shape(Plan& plan, const Backend& backend, const SelectOptions& options,
                       TimingCache& cache, Logger& logger) {
  if (!backend.device->capabilities().compiles_kernels || options.level == 0) return {};
  const std::vector<SymbolValues> points = plan_points(plan);
  Stopwatch watch;
  TENON_TRY(Chooser(plan, backend, options, cache).run(points));
  logger.verbose(
      "Build times: kernels for {} shapes chosen in {:.2f} s, the code of {} compiled meanwhile",
      points.size(), watch.lap(), plan.code->size());
  return {};
}

}  // namespace tenon
