#include "check/compile_checked.h"

#include <algorithm>
#include <future>
#include <set>

#include "base/stopwatch.h"
#include "check/compare.h"
#include "check/pass_bisect.h"
#include "check/processor_reference.h"
#include "check/region_check.h"
#include "check/sample.h"
#include "ops/math.h"
#include "ops/structure.h"
#include "ops/table.h"
#include "plan/concrete_graph.h"

namespace tenon {
namespace {

/// The coarsest type among the graph's values and `chosen`, the precision that passes may choose.
DataType computed_type(const Graph& graph, std::optional<DataType> chosen) {
  DataType coarsest = chosen.value_or(DataType::kFloat32);
  for (const auto& node : graph.nodes())
    for (const Value* value : node->outputs())
      if (is_real(value->type.type) && distance_limit(value->type.type) > distance_limit(coarsest))
        coarsest = value->type.type;
  return coarsest;
}

/// Sums that differ in their last bit may be rounded to neighbouring bytes, and each layer adds to
/// that: results of two right runtimes were 0.06 apart for a network of 50 layers, 0.45 for one
/// that is less steady. What is wrong is further away.
constexpr double kQuantizedLimit = 0.7;

/// Rounding to 16 bits adds up from layer to layer, and outputs often show less of it.
constexpr double kInsideSlack = 3;

bool rounds_to_bytes(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(), [](const auto& node) {
    return (node->template is<Quantize>() || node->template is<DynamicQuantize>()) &&
           byte_size(node->output()->type.type) == 1;
  });
}

/// Whether a loop ends by its data alone: on random data it may not.
bool has_open_loop(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (node->is<Loop>() && !node->has_input(0)) return true;
    for (const auto& body : node->bodies)
      if (has_open_loop(*body)) return true;
  }
  return false;
}

std::set<std::string> tactics_of(const Graph& graph) {
  std::set<std::string> names;
  for (const auto& node : graph.nodes())
    if (!node->tactic.empty() && node->tactic != kViewTactic)
      names.insert(node->tactic.substr(0, node->tactic.find('{')));
  return names;
}

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
    TENON_TRY(apply_profiles(*request_.graph, request_.profiles));
    network_ = request_.graph->clone();
    TENON_TRY(infer_graph(*network_));
    // Kernels for the processor are timed on it: there the reference has to wait.
    const auto when =
        request_.backend.device->unified() ? std::launch::deferred : std::launch::async;
    std::future<std::string> expecting = std::async(when, [this] { return expect(); });
    Result<Plan> compiled = compile_again(logger_);
    Stopwatch watch;
    const std::string reason = compiled.ok() || when == std::launch::async ? expecting.get() : "";
    if (!compiled.ok()) return compiled;
    logger_.verbose("Build times: waited for the self-check's reference for {:.2f} s", watch.lap());
    Plan plan = std::move(compiled).value();
    if (!reason.empty()) {
      logger_.verbose("self-check: not done, {}", reason);
      plan.settings["self_check"] = "not done: " + reason;
      return plan;
    }
    return settle(std::move(plan));
  }

 private:
  Result<Plan> compile_again(Logger& logger, bool keep_originals = false) {
    CompileRequest request;
    request.graph = network_->clone();
    request.profiles = request_.profiles;
    request.passes = request_.passes;
    request.select = request_.select;
    request.backend = request_.backend;
    request.keep_originals = keep_originals || request_.keep_originals;
    return compile(std::move(request), cache_, logger);
  }

  /// Evaluates the network; returns why it cannot be, or nothing.
  std::string expect() {
    const int64_t cost = reference_cost(*network_, request_.profiles[0]);
    if (check_.inputs.empty() && has_open_loop(*network_)) return "a loop ends by its data alone";
    if (cost > max_cost()) return "the model is too large for the reference";
    if (!check_.inputs.empty()) {
      expected_.inputs = check_.inputs;
    } else {
      auto inputs = sample_inputs(*network_, request_.profiles[0]);
      if (!inputs.ok()) return inputs.error().message;
      expected_.inputs = std::move(inputs).value();
    }
    auto outputs = reference_outputs();
    if (!outputs.ok()) return outputs.error().message;
    if (with_regions()) {
      auto values = named_values(*network_, expected_.inputs);
      if (!values.ok()) return values.error().message;
      inside_ = {expected_.inputs, expected_.outputs, inside_limit(), std::move(values).value()};
    }
    expected_.outputs = std::move(outputs).value();
    expected_.limit = distance_limit(
        computed_type(*network_, request_.passes.precision),
        multiplies_in_tf32(request_.backend.device.get(), request_.backend.allow_tf32));
    if (rounds_to_bytes(*network_)) expected_.limit = std::max(expected_.limit, kQuantizedLimit);
    return {};
  }

  int64_t max_cost() const {
    if (check_.max_cost >= 0) return check_.max_cost;
    return on_processor() ? SelfCheck::kMaxCostOnProcessor : SelfCheck::kDefaultMaxCost;
  }

  /// Whether the processor's kernels are the reference: they are another device's.
  bool on_processor() const { return !request_.backend.device->unified() && !with_regions(); }

  Result<std::vector<Tensor>> reference_outputs() const {
    if (on_processor()) {
      auto outputs = evaluate_on_processor(*network_, request_.profiles, expected_.inputs);
      if (outputs.ok()) return outputs;
    }
    return evaluate_graph(*network_, expected_.inputs);
  }

  /// Of values inside, for passes that keep the network's types.
  double inside_limit() const {
    const DataType type = computed_type(*network_, std::nullopt);
    const double limit = distance_limit(type) * (type == DataType::kFloat32 ? 1 : kInsideSlack);
    return rounds_to_bytes(*network_) ? std::max(limit, kQuantizedLimit) : limit;
  }

  /// Leaves wrong passes out where they are wrong; returns what was added to the list of them.
  Result<std::vector<std::string>> without_wrong_passes(bool outputs_differ) {
    std::vector<std::string> found;
    if (with_regions()) {
      // What passes round to 16 bits is no mistake, but adds up to more than limits allow.
      PassOptions options = request_.passes;
      options.precision.reset();
      TENON_ASSIGN(found, disable_wrong_passes(*network_, options, inside_, logger_));
      request_.passes.disabled = options.disabled;
    }
    if (!outputs_differ || !found.empty()) return found;
    return disable_wrong_passes(*network_, request_.passes, expected_, logger_);
  }

  /// What differs, or nothing. An error where the plan does not run.
  Result<std::string> plan_deviation(const Plan& plan) {
    Stopwatch watch;
    TENON_ASSIGN(const std::vector<Tensor> outputs,
                 run_plan(plan, request_.backend, request_.select.threads, expected_.inputs));
    worst_ = 0;
    logger_.verbose("Build times: ran the plan for the self-check in {:.2f} s", watch.lap());
    return compare_outputs(*network_, outputs, expected_.outputs, expected_.limit, &worst_);
  }

  Result<Plan> settle(Plan plan) {
    auto deviates = plan_deviation(plan);
    if (!deviates.ok()) {
      logger_.verbose("self-check: not done, {}", deviates.error().message);
      plan.settings["self_check"] = "not done: " + deviates.error().message;
      return plan;
    }
    if (deviates->empty() && !with_regions()) return passed(std::move(plan));
    if (!deviates->empty()) logger_.warning("self-check: {}", *deviates);
    TENON_ASSIGN(excluded_, without_wrong_passes(!deviates->empty()));
    if (!excluded_.empty()) {
      TENON_ASSIGN(plan, compile_again(logger_));
      TENON_ASSIGN(const std::string still, plan_deviation(plan));
      deviates = still;
    }
    if (with_regions()) return with_right_kernels(std::move(plan));
    if (deviates->empty()) return passed(std::move(plan));
    return without_wrong_kernel(std::move(plan));
  }

  bool with_regions() const {
    return check_.regions || request_.passes.level >= SelfCheck::kRegionLevel;
  }

  /// Passes are right. Leaves out the kernels of regions that are wrong, until none is.
  Result<Plan> with_right_kernels(Plan plan) {
    const auto given = request_.select.allowed;
    std::set<std::string> wrong;
    request_.select.allowed = [&](const Tactic& tactic) {
      return !wrong.contains(std::string(tactic.name)) && (given == nullptr || given(tactic));
    };
    NullLogger quiet;
    for (int round = 0; round < kMaxWrongKernels; ++round) {
      TENON_ASSIGN(const Plan twin, compile_again(quiet, true));
      TENON_ASSIGN(
          const RegionReport report,
          check_regions(twin, request_.backend, request_.select.threads, expected_.inputs));
      if (report.wrong.empty()) return passed_regions(std::move(plan), report);
      for (const WrongRegion& region : report.wrong) {
        if (!wrong.insert(region.tactic).second) continue;
        logger_.warning("self-check: {}; the plan does without that kernel", region.description);
        excluded_.push_back(region.tactic);
      }
      TENON_ASSIGN(plan, compile_again(logger_));
    }
    logger_.warning("self-check: regions are still wrong without {}", fmt::join(excluded_, ", "));
    plan.settings["self_check"] = "failed";
    return plan;
  }

  Result<Plan> passed_regions(Plan plan, const RegionReport& report) {
    TENON_ASSIGN(const std::string still, plan_deviation(plan));
    const std::string count = fmt::format("{} of {}", report.checked, report.regions);
    plan.settings["self_check_regions"] = count;
    logger_.info("self-check: {} regions agree with the reference", count);
    return still.empty() ? passed(std::move(plan)) : without_wrong_kernel(std::move(plan));
  }

  /// Passes are right: a kernel is not. The first whose absence helps is left out.
  Result<Plan> without_wrong_kernel(Plan plan) {
    const auto before = request_.select.allowed;
    for (const std::string& name : tactics_of(*plan.graph)) {
      request_.select.allowed = [&before, &name](const Tactic& tactic) {
        return tactic.name != name && (before == nullptr || before(tactic));
      };
      NullLogger quiet;
      auto other = compile_again(quiet);
      if (!other.ok()) continue;
      const auto still = plan_deviation(*other);
      if (!still.ok() || !still->empty()) continue;
      logger_.warning("self-check: kernel {} gives wrong results; the plan does without it", name);
      excluded_.push_back(name);
      return passed(std::move(other).value());
    }
    logger_.warning("self-check: results differ, and no pass or kernel alone is to blame");
    plan.settings["self_check"] = "failed";
    return plan;
  }

  Result<Plan> passed(Plan plan) {
    logger_.info("self-check: outputs agree with the reference (distance {:.2g}, limit {:.2g}){}",
                 worst_, expected_.limit,
                 excluded_.empty() ? "" : fmt::format(" without {}", fmt::join(excluded_, ", ")));
    plan.settings["self_check"] =
        excluded_.empty() ? "passed" : fmt::format("passed without {}", fmt::join(excluded_, ", "));
    return plan;
  }

  CompileRequest request_;
  TimingCache& cache_;
  const SelfCheck& check_;
  Logger& logger_;
  std::unique_ptr<Graph> network_;  ///< As given, with the profiles' extents.
  Expectation expected_;
  Expectation inside_;  ///< With values inside the network.
  double worst_ = 0;
  std::vector<std::string> excluded_;
};

}  // namespace

Result<Plan> compile_checked(CompileRequest request, TimingCache& cache, const SelfCheck& check,
                             Logger& logger) {
  return CheckedBuild(std::move(request), cache, check, logger).run();
}

}  // namespace tenon
