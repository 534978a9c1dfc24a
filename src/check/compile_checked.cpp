#include "check/compile_checked.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <future>
#include <set>
#include <system_error>
#include <utility>

#include "base/build_record.h"
#include "base/call_number.h"
#include "base/parallel.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "check/check_forecast.h"
#include "check/moved_outputs.h"
#include "check/network_facts.h"
#include "check/network_reference.h"
#include "check/output_check.h"
#include "check/pass_bisect.h"
#include "check/processor_reference.h"
#include "check/region_check.h"
#include "check/sample.h"
#include "ops/math.h"
#include "ops/structure.h"
#include "ops/table.h"
#include "plan/concrete_graph.h"
#include "plan/points.h"
#include "select/agreement.h"
#include "select/pack_weights.h"

namespace tenon {
namespace {

/// Seconds that a check may take however short the build was, where something is found.
constexpr double kShortSearch = 3;
/// Wrong kernels that are looked for; beyond that something else is wrong.
constexpr int kMaxWrongKernels = 8;

/// One build with its check.
class CheckedBuild {
 public:
  CheckedBuild(CompileRequest request, TimingCache& cache, const SelfCheck& check, Logger& logger)
      : request_(std::move(request)), cache_(cache), check_(check), logger_(logger) {}

  Result<Plan> run() {
    if (!check_.enabled || request_.passes.level < SelfCheck::kMinLevel)
      return compile(std::move(request_), cache_, logger_);
    TENON_TRY(prepare());
    // Kernels for the processor are timed on it: there the reference has to wait.
    const auto when = on_host_cores() ? std::launch::deferred : std::launch::async;
    const bool is_ahead = when == std::launch::deferred && !has_budget();
    passes_beside_ = (is_ahead || when == std::launch::async) && passes_are_short();
    announce_check(when);
    const auto asked = stop_question();
    inputs_drawn_ = std::async(std::launch::deferred, [this] { return draw_inputs(); });
    const auto work = with_call_number([this, asked, when, forecast = forecast_of_check(when)] {
      if (when == std::launch::async) give_way();
      const StopScope stops([&] { return is_given_up_ || (asked && asked()); });
      std::string reason = expect();
      if (forecast.has_value()) announce_evaluated(*forecast);
      return reason;
    });
    expecting_ = std::async(when, work);
    if (is_ahead) evaluate_ahead(work);
    look_at_passes_beside(when, asked);
    if (when == std::launch::async && !has_budget()) round_after_trials(asked);
    return compile_and_check(when);
  }

 private:
  using Clock = std::chrono::steady_clock;

  static double since(Clock::time_point begun) {
    return std::chrono::duration<double>(Clock::now() - begun).count();
  }

  /// The network as it was given, and all that is compared with it.
  Status prepare() {
    TENON_TRY(apply_profiles(*request_.graph, request_.profiles));
    network_ = request_.graph->clone();
    TENON_TRY(infer_graph(*network_));
    given_ = request_.select.allowed;
    request_.select.allowed = [this](const Tactic& tactic) {
      return !wrong_kernels_.contains(std::string(tactic.name)) &&
             (given_ == nullptr || given_(tactic));
    };
    reference_.emplace(*network_, request_.profiles, on_processor());
    outputs_.emplace(*network_, *reference_, plan_rounding());
    if (watch_ != nullptr)
      plain_pace_ =
          PlainPace::measured(static_cast<double>(reference_cost(*network_, request_.profiles[0])));
    return {};
  }

  /// How long the reference takes is known when it was evaluated; a budget is for kernels first.
  void evaluate_ahead(const std::function<std::string()>& work) {
    request_.before_passes = [this, work] {
      try {
        expecting_ = std::async(std::launch::async, work);
      } catch (const std::system_error&) {  // No thread is left: it is evaluated when waited for.
      }
    };
    request_.select.before_trials = [this] { expect_ahead(); };
  }

  Result<Plan> compile_and_check(std::launch when) {
    Stopwatch watch;
    Result<Plan> compiled = compile_again(logger_);
    request_.select.before_trials = nullptr;
    request_.select.after_trials = nullptr;
    build_seconds_ = check_.seconds_before + watch.lap() - ahead_;
    if (compiled.ok() && has_no_time()) {
      TENON_ASSIGN(Plan plan, std::move(compiled));
      plan = not_done(std::move(plan), "the time that the build was given is up");
      tell_facts(plan);
      return without_originals(std::move(plan));
    }
    announce_check(when);
    if (watch_ != nullptr) watch_->begin(BuildWatch::Step::kCheck);
    is_given_up_ = !compiled.ok();
    const std::string reason = compiled.ok() || when == std::launch::async ? expecting_.get() : "";
    if (!compiled.ok()) return compiled;
    waited_ = ahead_ + watch.lap();
    announce_check(when);
    logger_.verbose("Build times: waited for the self-check's reference for {:.3f} s", waited_);
    Plan plan = std::move(compiled).value();
    Result<Plan> checked =
        reason.empty() ? conclude(std::move(plan)) : not_done(std::move(plan), reason);
    is_given_up_ = true;
    const double checked_for = waited_ + watch.lap();
    if (request_.select.notes != nullptr)
      request_.select.notes->add_span("stage", "self-check", checked_for - ahead_);
    logger_.verbose("Build times: self-check took {:.3f} s behind a build of {:.3f} s", checked_for,
                    build_seconds_);
    if (!checked.ok()) return checked;
    tell_facts(*checked);
    return without_originals(std::move(checked).value());
  }

  bool has_budget() const { return watch_ != nullptr && watch_->has_budget(); }

  /// Once, while the build is about to choose kernels: afterwards its time is known.
  void expect_ahead() {
    if (ahead_ > 0) return;
    Stopwatch watch;
    if (watch_ != nullptr) watch_->begin_aside(BuildWatch::Step::kCheck);
    expecting_.wait();
    if (of_passes_.valid()) of_passes_.wait();
    ahead_ = watch.lap();
    if (request_.select.notes != nullptr)
      request_.select.notes->add_span("stage", "self-check's reference", ahead_);
    announce_check(std::launch::deferred);
    if (watch_ != nullptr) watch_->end_aside();
  }

  /// Whether the second look is so short, by plain loops, that it is begun whatever time there is.
  bool passes_are_short() const { return looks_at_passes() && !reference_->takes_kernels(); }

  bool looks_at_passes() const {
    return plan_rounding().of_products() && !with_regions() && !rounds_to_bytes(*network_);
  }

  void look_at_passes_beside(std::launch when, const std::function<bool()>& asked) {
    if (passes_beside_)
      request_.before_precision = [=, this](const Graph& graph) {
        pass_beside(graph.clone(), asked);
      };
    else if (when == std::launch::async && has_open_extents(*network_) && looks_at_passes() &&
             !has_budget())
      look_before_choices(asked);
  }

  /// The second look at the passes of a range begins where the build leaves most cores idle.
  void look_before_choices(const std::function<bool()>& asked) {
    request_.before_precision = [this](const Graph& graph) { before_precision_ = graph.clone(); };
    request_.before_choices = [this, asked] {
      if (before_precision_ == nullptr) return;
      passes_beside_ = true;
      pass_beside(std::move(before_precision_), asked);
    };
  }

  /// Beside the build's own passes, the others give the network in its own precision, which is
  /// evaluated beside the reference.
  void pass_beside(std::shared_ptr<const Graph> graph, const std::function<bool()>& asked) {
    of_passes_ = begin_aside([this, graph = std::move(graph), asked,
                              passes = request_.passes]() -> Result<std::vector<Tensor>> {
      const StopScope stops([&] { return is_given_up_ || (asked && asked()); });
      TENON_ASSIGN(const auto passed, NetworkReference::passed(passes, *graph));
      TENON_TRY(have_inputs());
      return reference_->outputs_of(*passed);
    });
  }

  Status have_inputs() const {
    const std::shared_future<std::string> drawn = inputs_drawn_;
    return drawn.get().empty() ? Status() : unsupported("{}", drawn.get());
  }

  /// The network with a plan's rounding is evaluated while layers are timed in their sequence,
  /// where so many layers show it that the check is likely to need that.
  void round_after_trials(const std::function<bool()>& asked) {
    const ReferenceWork work = reference_work(*network_, request_.profiles[0]);
    if (with_regions() || !plan_rounding().shows(work.kernels)) return;
    request_.select.after_trials = [this, asked](const Graph& graph) {
      rounding_of_ = stored_types(graph);
      rounding_ = begin_aside([this, asked, types = rounding_of_]() -> Result<std::vector<Tensor>> {
        const StopScope stops([&] { return is_given_up_ || (asked && asked()); });
        TENON_TRY(have_inputs());
        return rounded(types);
      });
    };
  }

  /// In a few words, for people who watch the build.
  void tell_facts(const Plan& plan) const {
    if (watch_ == nullptr) return;
    const auto outcome = plan.settings.find("self_check");
    watch_->note(BuildWatch::Step::kCheck,
                 (outcome == plan.settings.end() ? std::string() : outcome->second) +
                     (report_.regions == 0 ? "" : fmt::format(", {} regions", regions())));
  }

  /// Where the time is limited and the check would go beyond it; the reference that was begun is
  /// waited for.
  bool has_no_time() const {
    if (watch_ == nullptr || !watch_->has_no_time_to_check()) return false;
    if (expecting_.wait_for(std::chrono::seconds(0)) != std::future_status::deferred)
      expecting_.wait();
    return true;
  }

  /// Tells how long the check will take: once before the build, and when it begins.
  void announce_check(std::launch when) {
    if (watch_ == nullptr) return;
    const auto forecast = forecast_of_check(when);
    if (!forecast.has_value()) return;
    watch_->foresee(
        BuildWatch::Step::kCheck, BuildWatch::Span::kWhole,
        [forecast](const BuildWatch::Known& known) { return forecast->seconds(known); });
  }

  /// Where the build went on meanwhile: evaluations behind it take as long as this one.
  void announce_evaluated(CheckForecast forecast) const {
    if (watch_ == nullptr || !forecast.beside_build) return;
    forecast.reference_took = 0;
    forecast.evaluation_took = evaluation_;
    watch_->foresee(BuildWatch::Step::kCheck, BuildWatch::Span::kWhole,
                    [forecast](const BuildWatch::Known& known) { return forecast.seconds(known); });
  }

  /// Nothing where there will be no check.
  std::optional<CheckForecast> forecast_of_check(std::launch when) const {
    CheckForecast forecast;
    forecast.costs = reference_costs(*network_, request_.profiles[0]);
    for (const NodeCost& cost : forecast.costs) forecast.operations += cost.multiplications;
    const bool is_known = reference_cost(*network_, request_.profiles[0]) <= max_cost();
    if (!is_known || (check_.inputs.empty() && has_open_loop(*network_))) return std::nullopt;
    const ReferenceWork work = reference_work(*network_, request_.profiles[0]);
    forecast.bytes = sizeof(float) * work.elements;
    forecast.kernels = work.kernels;
    forecast.weights = work.weights;
    forecast.narrow = plan_rounding().narrow();
    forecast.workers = RegionCheck::workers(request_.backend, request_.select.threads);
    forecast.large = RegionCheck::large(request_.backend);
    forecast.cores = static_cast<int>(helper_threads());
    forecast.plain = plain_pace_;
    forecast.on_processor = reference_->takes_kernels();
    forecast.beside_build = when == std::launch::async;
    forecast.all_regions = with_regions();
    forecast.evaluations =
        with_regions() ? evaluations_of_values() : evaluations_behind(work.kernels);
    forecast.rounds = plan_rounding().shows(work.kernels);
    if (build_seconds_ > 0) forecast.build = build_seconds_;
    if (ahead_ > 0 || waited_ > 0) forecast.reference_took = std::max(waited_, ahead_);
    forecast.reference_ahead = ahead_;
    // Its thread may still be at it before the build has ended.
    if ((build_seconds_ > 0 && waited_ > 0) || ahead_ > 0) forecast.evaluation_took = evaluation_;
    return forecast;
  }

  /// While the build waits for the reference, each node tells how much longer that takes.
  ReferenceObserver told_of_reference() const {
    if (watch_ == nullptr || !on_host_cores()) return {};
    const auto known = forecast_of_check(std::launch::deferred);
    return known ? known->told_to(*watch_, build_seconds_ == 0) : ReferenceObserver();
  }

  /// The reference reads constants as the model has them.
  Result<Plan> compile_again(Logger& logger) {
    CompileRequest request;
    request.graph = network_->clone();
    request.profiles = request_.profiles;
    request.passes = request_.passes;
    request.select = request_.select;
    request.backend = request_.backend;
    request.keep_originals = true;
    request.packs = request_.packs;
    request.takes_forms = request_.takes_forms;
    request.opens_broadcasts = request_.opens_broadcasts;
    // The first build alone tells, and has the reference evaluated beside it.
    request.levels = std::exchange(request_.levels, nullptr);
    request.before_passes = std::exchange(request_.before_passes, nullptr);
    request.before_precision = std::exchange(request_.before_precision, nullptr);
    request.before_choices = std::exchange(request_.before_choices, nullptr);
    return compile(std::move(request), cache_, logger);
  }

  Result<Plan> without_originals(Plan plan) const {
    if (request_.keep_originals || !request_.packs) return plan;
    TENON_ASSIGN(const ProfileEnds ends, profile_ends(*plan.graph, plan.profiles[0]));
    TENON_TRY(pack_weights(*plan.graph, request_.backend, ends.usual, plan_ends(plan),
                           request_.select.threads, false));
    return plan;
  }

  /// Returns why the network cannot be evaluated, or nothing.
  std::string draw_inputs() {
    const int64_t cost = reference_cost(*network_, request_.profiles[0]);
    if (check_.inputs.empty() && has_open_loop(*network_)) return "a loop ends by its data alone";
    if (cost > max_cost())
      return cost == INT64_MAX ? "plugins, loops or shapes that depend on data may take any time"
                               : "the model is too large for the reference";
    inputs_ = check_.inputs;
    if (inputs_.empty()) {
      auto inputs = sample_inputs(*network_, request_.profiles[0]);
      if (!inputs.ok()) return inputs.error().message;
      inputs_ = std::move(inputs).value();
    }
    reference_->take_inputs(inputs_);
    return {};
  }

  /// Evaluates the network; returns why it cannot be, or nothing.
  std::string expect() {
    const std::shared_future<std::string> drawn = inputs_drawn_;
    if (!drawn.get().empty()) return drawn.get();
    Stopwatch watch;
    const Status evaluated = reference_->evaluate(told_of_reference());
    evaluation_ = watch.lap();
    return evaluated.ok() ? std::string() : evaluated.error().message;
  }

  bool with_regions() const {
    return check_.regions || request_.passes.level >= SelfCheck::kRegionLevel;
  }

  bool on_processor() const { return !with_regions(); }
  bool on_host_cores() const { return request_.backend.device->capabilities().host_cores; }

  int64_t max_cost() const { return check_.limit(!on_host_cores(), request_.passes.level); }

  Plan not_done(Plan plan, const std::string& reason) const {
    logger_.info("self-check: not done, {}", reason);
    plan.settings["self_check"] = "not done: " + reason;
    return plan;
  }

  Result<Plan> conclude(Plan plan) {
    const Deadline end(with_regions() ? kForever : std::max(build_seconds_, kShortSearch));
    for (int round = 0; round <= kMaxWrongKernels; ++round) {
      const auto examined = examine(plan, end);
      if (!examined.ok()) return not_done(std::move(plan), examined.error().message);
      if (report_.wrong.empty()) break;
      if (round == kMaxWrongKernels || end.passed() || !leave_out_wrong_kernels())
        return failed(std::move(plan), report_.wrong[0].description);
      TENON_ASSIGN(plan, compile_again(logger_));
    }
    if (outputs_->agrees() && !with_regions() && !passes_differ()) return passed(std::move(plan));
    return without_wrong_passes(std::move(plan), end);
  }

  /// Tells how much longer regions are compared, and values inside are looked at behind that.
  RegionCheck::Told told() const {
    if (watch_ == nullptr) return {};
    double behind = 0;
    const auto forecast = forecast_of_check(std::launch::deferred);
    if (with_regions() && forecast && plain_pace_)
      watch_->kernels(
          [&, passes = watch_->seconds(BuildWatch::Step::kOptimize)](const BuildForecast& kernels) {
            behind = forecast->behind_all(kernels, *plain_pace_, evaluation_, passes);
          });
    return [this, behind](double left) { tell_left(left + behind); };
  }

  /// Of the evaluations behind the look at regions.
  void tell_evaluations_left() const {
    if (watch_ == nullptr || with_regions()) return;
    const bool of_rounding =
        outputs_->rounded().empty() && outputs_->is_notable() && shares_.evaluates;
    const bool of_passes =
        !of_passes_.valid() &&
        (plan_rounding().of_products() ? shares_.evaluates : !outputs_->is_near());
    tell_left(evaluation_ * (of_rounding + of_passes));
  }

  void tell_left(double seconds) const {
    watch_->foresee(
        BuildWatch::Step::kCheck, BuildWatch::Span::kRest,
        [seconds, told = Clock::now()](const BuildWatch::Known&) { return seconds - since(told); });
  }

  /// Runs the plan, and compares its regions and its outputs.
  Status examine(const Plan& plan, const Deadline& end) {
    RegionCheck regions(plan, request_.backend, request_.select.threads);
    Stopwatch watch;
    TENON_ASSIGN(std::vector<Tensor> outputs, regions.run(inputs_));
    const ReferenceWork work = reference_work(*network_, request_.profiles[0]);
    double ran = watch.lap();
    tell_run(work, ran);
    rounded_by_time_ = false;
    outputs_->compare(std::move(outputs));
    if (watch_ != nullptr && plan_rounding().shows(work.kernels))
      watch_->kernels([&](BuildForecast& k) { k.compared_outputs(!outputs_->agrees()); });
    if (!outputs_->agrees()) look_at_rounding(*plan.graph);
    outputs_->compare_more_draws(stored_types(*plan.graph), end);
    // Whatever ran ahead of them: what outputs hide shows in regions alone.
    ran += watch.lap();
    const double look = std::min(CheckForecast::look_seconds(build_seconds_, waited_ + ran),
                                 watch_ == nullptr ? kForever : watch_->left_to_check());
    shares_ = CheckForecast::shares(look, seconds_behind(work));
    const Deadline looked(with_regions() ? kForever : shares_.regions);
    const auto forms = static_cast<double>(plan.forms.size());
    report_ = regions.compare(Deadline(looked.left() / (1 + forms)), told());
    TENON_TRY(examine_forms(plan, looked));
    tell_evaluations_left();
    logger_.verbose("Build times: the plan ran in {:.3f} s, its regions were compared in {:.3f} s",
                    ran, watch.lap());
    if (outputs_->rounded().empty() && outputs_->is_notable() && shares_.evaluates) {
      look_at_rounding(*plan.graph);
      rounded_by_time_ = true;
    }
    if (!outputs_->agrees() && report_.wrong.empty()) report_ = regions.compare(end);
    if (request_.select.notes != nullptr) note_accuracy(regions, *request_.select.notes);
    return {};
  }

  /// Of the plan with all of its values.
  void tell_run(const ReferenceWork& work, double seconds) const {
    if (watch_ == nullptr) return;
    const double values = sizeof(float) * work.elements;
    const auto cost = static_cast<double>(reference_cost(*network_, request_.profiles[0]));
    watch_->kernels([&](BuildForecast& kernels) {
      if (!on_host_cores())
        return kernels.ran_there(work.kernels, plan_rounding().narrow() * work.bytes(), seconds);
      kernels.kept_values(work.kernels, plan_rounding().narrow() * values,
                          seconds - kernels.running(cost, values));
    });
  }

  /// Forms of the graph that serve other shapes, under these, in equal parts of the time.
  Status examine_forms(const Plan& plan, const Deadline& looked) {
    const int forms = static_cast<int>(plan.forms.size());
    for (int form = 1; form <= forms; ++form) {
      const Plan of_form = plan_of_form(plan, form);
      RegionCheck regions(of_form, request_.backend, request_.select.threads);
      TENON_TRY(regions.run(inputs_));
      report_.add(regions.compare(Deadline(looked.left() / (forms - form + 1)), told()));
    }
    return {};
  }

  /// Values inside the network take the reference long: only where that was asked for anyway.
  void note_accuracy(RegionCheck& regions, BuildRecord& record) {
    record.accuracy = report_.found;
    record.outputs.clear();
    const std::vector<Deviation>& found = outputs_->found();
    for (size_t i = 0; i < found.size(); ++i)
      record.outputs.push_back({network_->outputs()[i]->name, found[i].norm, found[i].norm_limit});
    if (!with_regions()) return;
    if (!find_values().ok()) return;
    const std::map<std::string, double> distances = regions.distances_from(*values_);
    for (BuildRecord::Accuracy& accuracy : record.accuracy)
      if (const auto distance = distances.find(accuracy.value); distance != distances.end())
        accuracy.accumulated = distance->second;
  }

  /// Once: it takes as long as the reference.
  Status find_values() {
    if (values_.has_value()) return {};
    TENON_ASSIGN(values_, named_values(*network_, inputs_));
    return {};
  }

  void look_at_rounding(const Graph& plan) {
    const StoredTypes types = stored_types(plan);
    const bool is_ahead = rounding_.valid() && rounding_of_ == types;
    Stopwatch watch;
    auto with_rounding = is_ahead ? rounding_.get() : rounded(types);
    if (!with_rounding.ok()) return;
    const double took = watch.lap();
    if (watch_ != nullptr && !is_ahead) {
      const double weights = reference_work(*network_, request_.profiles[0]).weights;
      watch_->kernels(
          [&](BuildForecast& kernels) { kernels.rounded(weights, took - evaluation_); });
    }
    outputs_->compare_rounded(std::move(with_rounding).value());
  }

  PlanRounding plan_rounding() const {
    return {*network_, request_.passes.precision,
            multiplies_in_tf32(request_.backend.device.get(), request_.backend.numerics.tf32)};
  }

  /// See NetworkReference.
  Result<std::vector<Tensor>> rounded(const StoredTypes& types) const {
    const PlanRounding rounding = plan_rounding();
    return reference_->rounded(types, rounding.precision, rounding.in_tf32);
  }

  /// Evaluations behind the look at regions where products are rounded: of what the passes made,
  /// unless that was begun beside the build, and with rounding where it shows. The roundings of
  /// layers behind one another add up like random steps.
  double evaluations_behind(double layers) const {
    return plan_rounding().of_products() ? !passes_beside_ + plan_rounding().shows(layers) : 0;
  }
  /// With the time to round constants, and to run the passes once more.
  double seconds_behind(const ReferenceWork& work) const {
    double seconds = evaluations_behind(work.kernels) * evaluation_;
    if (watch_ == nullptr || seconds <= 0) return seconds;
    if (plan_rounding().shows(work.kernels))
      watch_->kernels([&](BuildForecast& kernels) { seconds += kernels.rounding(work.weights); });
    return seconds + (passes_beside_ ? 0 : watch_->seconds(BuildWatch::Step::kOptimize));
  }
  /// Evaluations where all regions are compared: of the values inside, also in the network's own
  /// types where these are narrow, with sums in another order, and as the passes leave it.
  double evaluations_of_values() const {
    return 3 + (coarsest_type(*network_) != DataType::kFloat32);
  }
  /// Where rounding hides them, or the limit of a whole network: the passes' result for the network
  /// in its own precision, next to which sums in another order alone are right.
  bool passes_differ() {
    if (rounds_to_bytes(*network_)) return false;
    if (plan_rounding().of_products() && !of_passes_.valid() && !shares_.evaluates &&
        !with_regions())
      return false;
    if (!request_.passes.precision.has_value() && outputs_->is_near()) return false;
    const auto outputs =
        of_passes_.valid() ? of_passes_.get() : reference_->after_passes(request_.passes);
    if (!outputs.ok()) return false;
    return outputs_->compare_passes(*outputs);
  }

  /// Nothing takes the place of the one that computes anything; true where there are others.
  bool leave_out_wrong_kernels() {
    const size_t before = excluded_.size();
    for (const WrongRegion& region : report_.wrong) {
      if (computes_anything(region.tactic) || !wrong_kernels_.insert(region.tactic).second)
        continue;
      logger_.warning("self-check: {}; the plan does without that kernel", region.description);
      excluded_.push_back(region.tactic);
    }
    return excluded_.size() > before;
  }

  bool computes_anything(std::string_view tactic) const {
    return std::ranges::any_of(request_.backend.tactics, [&](const Tactic& row) {
      return row.name == tactic && row.traits.fallback == Fallback::kAnything;
    });
  }

  Result<Plan> without_wrong_passes(Plan plan, const Deadline& end) {
    const bool is_fine = outputs_->is_fine();
    if (!outputs_->agrees() && !is_fine) logger_.warning("self-check: {}", outputs_->deviates());
    const size_t before = request_.passes.disabled.size();
    const auto in_time = find_wrong_passes(end);
    if (!in_time.ok() && !end.passed() && !is_fine)
      return failed(std::move(plan), in_time.error().message);
    const bool is_open = !in_time.ok() || !*in_time;
    if (is_open && !is_fine && request_.passes.disabled.size() == before)
      return failed(std::move(plan), outputs_->deviates() + "; the time for finding out why is up");
    if (request_.passes.disabled.size() > before) {
      TENON_ASSIGN(plan, compile_again(logger_));
      TENON_TRY(examine(plan, end));
      if (!report_.wrong.empty()) return failed(std::move(plan), report_.wrong[0].description);
    }
    if (is_fine && request_.passes.disabled.size() == before) {
      logger_.verbose("self-check: {}, for which no pass alone is to blame", outputs_->deviates());
      outputs_->accept();
    }
    if (outputs_->agrees()) return passed(std::move(plan));
    return failed(std::move(plan), outputs_->deviates() + "; no pass or kernel alone is to blame");
  }

  /// First in the network's own precision, so that rounding hides nothing and is not blamed; false
  /// where time was up.
  Result<bool> find_wrong_passes(const Deadline& end) {
    if (outputs_->agrees() && !with_regions()) return true;
    Expectation expected;
    expected.inputs = inputs_;
    expected.tolerance = tolerance(Computation::kNetwork, coarsest_type(*network_));
    expected.outputs = reference_->outputs();
    if (with_regions()) {
      TENON_TRY(find_values());
      expected.values = *values_;
      TENON_ASSIGN(expected.rounded_values, reference_->other_values());
    } else {
      expected.evaluate = [this](const Graph& graph) { return reference_->outputs_of(graph); };
    }
    if (outputs_->is_fine()) {
      expected.tolerance = OutputCheck::pass_limit();
      expected.rounded = outputs_->reordered();
    } else if (auto rounded = reference_->rounded({}, std::nullopt, false); rounded.ok()) {
      expected.rounded = std::move(rounded).value();
    }
    TENON_ASSIGN(bool in_time, disable_with(request_.passes.precision.has_value(), expected, end));
    if (!excluded_passes_ && !outputs_->agrees() && in_time &&
        request_.passes.precision.has_value()) {
      expected.values.clear();
      expected.evaluate = [this](const Graph& graph) {
        return reference_->outputs_as_typed(graph, inputs_);
      };
      expected.rounded = outputs_->rounded();
      expected.tolerance = plan_rounding().tolerance();
      TENON_ASSIGN(in_time, disable_with(false, expected, end));
    }
    return in_time;
  }

  Result<bool> disable_with(bool without_precision, const Expectation& expected,
                            const Deadline& end) {
    PassOptions options = request_.passes;
    if (without_precision) options.precision.reset();
    TENON_ASSIGN(const WrongPasses wrong,
                 disable_wrong_passes(*network_, options, expected, end, logger_));
    request_.passes.disabled = options.disabled;
    excluded_.insert(excluded_.end(), wrong.disabled.begin(), wrong.disabled.end());
    excluded_passes_ |= !wrong.disabled.empty();
    return wrong.in_time;
  }

  /// Rounding explains them, but they are not acceptable.
  void warn_of_overflows() const {
    const std::vector<Deviation>& found = outputs_->found();
    for (size_t i = 0; i < found.size(); ++i)
      if (found[i].overflows > 0)
        logger_.warning(
            "self-check: {} of {} values of output '{}' are not finite in {}, where fp32 has "
            "numbers; bf16 has fp32's "
            "range, and --layerPrecisions (setPrecision) keeps single layers in fp32",
            found[i].overflows, reference_->outputs()[i].count(), network_->outputs()[i]->name,
            plan_rounding().name());
  }

  std::string regions() const { return fmt::format("{} of {}", report_.checked, report_.regions); }

  /// What time sufficed for is the machine's, and lies in the plan only where there was no limit:
  /// the same build gives the same bytes.
  void describe(Plan& plan) {
    if (with_regions()) plan.settings["self_check_regions"] = regions();
    if (!report_.unchecked.empty()) {
      if (with_regions()) plan.settings["self_check_open"] = report_.unchecked;
      logger_.info("self-check: {} regions were compared, not {}", regions(), report_.unchecked);
    }
    warn_of_overflows();
    const std::string quantized = effect_of_quantization();
    const auto effect = [&](bool beside_rounding) {
      const MovedOutputs moved{*network_, outputs_->outputs(), reference_->outputs(),
                               beside_rounding ? outputs_->rounded() : std::span<const Tensor>()};
      const std::string text = moved.by_precision(plan_rounding().name(), outputs_->found());
      return text + (text.empty() || quantized.empty() ? "" : "; ") + quantized;
    };
    const std::string told = effect(true);
    if (told.empty()) return;
    plan.settings["self_check_cost"] = effect(with_regions() || !rounded_by_time_);
    logger_.info("self-check: {}", told);
  }

  std::string effect_of_quantization() const {
    if (check_.unquantized == nullptr || inputs_.empty()) return {};
    const auto plain = evaluate_on_processor(*check_.unquantized, request_.profiles, inputs_);
    if (plain.ok() && plain->size() == outputs_->outputs().size())
      return MovedOutputs{*network_, outputs_->outputs(), {}, {}}.by_quantization(*plain, logger_);
    logger_.verbose("self-check: not compared with the network before quantization: {}",
                    plain.ok() ? "other outputs" : plain.error().message);
    return {};
  }

  Plan passed(Plan plan) {
    describe(plan);
    double worst = 0;
    for (const Deviation& deviation : outputs_->found()) worst = std::max(worst, deviation.norm);
    logger_.info(
        "self-check: outputs agree with {} (distance {:.2g}), and {} regions{}",
        check_.unquantized == nullptr ? "the reference" : "the network as it was quantized", worst,
        regions(), excluded_.empty() ? "" : fmt::format(" without {}", fmt::join(excluded_, ", ")));
    plan.settings["self_check"] =
        excluded_.empty() ? "passed" : fmt::format("passed without {}", fmt::join(excluded_, ", "));
    return plan;
  }

  Plan failed(Plan plan, const std::string& reason) {
    describe(plan);
    logger_.warning("self-check: failed: {}", reason);
    plan.settings["self_check"] = "failed: " + reason;
    return plan;
  }

  static constexpr double kForever = 1e6;

  CompileRequest request_;
  TimingCache& cache_;
  const SelfCheck& check_;
  Logger& logger_;
  BuildWatch* const watch_ = request_.select.watch;
  std::function<bool(const Tactic&)> given_;
  std::unique_ptr<Graph> network_;  ///< As given, with the profiles' extents.
  std::vector<Tensor> inputs_;
  std::shared_future<std::string> inputs_drawn_;  ///< By the first thread that needs these.
  std::optional<NetworkReference> reference_;
  std::optional<OutputCheck> outputs_;                   ///< Of the last plan that was examined.
  std::optional<PlainPace> plain_pace_;                  ///< Of builds that are watched.
  std::optional<std::map<std::string, Tensor>> values_;  ///< Of the inside, where asked for.
  double build_seconds_ = 0;
  double evaluation_ = 0;  ///< Seconds of the reference, by the thread that evaluated it.
  double waited_ = 0;      ///< For the reference.
  double ahead_ = 0;       ///< The part of it that passed before kernels were tried.
  std::atomic<bool> is_given_up_ = false;  ///< The build failed: the reference may end.
  CheckForecast::Shares shares_;           ///< Of the time of a check that finds nothing.
  bool passes_beside_ = false;  ///< A second look at the passes goes on beside the build.
  std::unique_ptr<Graph> before_precision_;             ///< For that look.
  std::future<Result<std::vector<Tensor>>> of_passes_;  ///< Its outputs; read once.
  StoredTypes rounding_of_;  ///< For which outputs with rounding are evaluated beside the build.
  std::future<Result<std::vector<Tensor>>> rounding_;
  // Of the last plan that was examined.
  RegionReport report_;
  bool rounded_by_time_ = false;  ///< Only since time was left.
  // Over all of them.
  std::set<std::string> wrong_kernels_;
  std::vector<std::string> excluded_;
  bool excluded_passes_ = false;
  std::shared_future<std::string> expecting_;  ///< The reference, which uses the others: last.
};

}  // namespace

Result<Plan> compile_checked(CompileRequest request, TimingCache& cache, const SelfCheck& check,
                             Logger& logger) {
  Result<Plan> plan = CheckedBuild(std::move(request), cache, check, logger).run();
  if (!plan.ok() || check.keep_failed) return plan;
  const auto outcome = plan->settings.find("self_check");
  if (outcome == plan->settings.end() || !outcome->second.starts_with("failed")) return plan;
  return internal_error(
      "self-check: the plan's results are wrong, and leaving out a pass or a kernel does not help: "
      "there is no plan ({}). --allowFailedSelfCheck, or tenon::allowFailedSelfCheck, gives it all "
      "the same",
      outcome->second);
}

}  // namespace tenon
