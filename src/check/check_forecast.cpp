#include "check/check_forecast.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "select/time_left.h"

namespace tenon {
namespace {

/// The time of a check that finds nothing, over the time of the build: a quarter of both.
constexpr double kShare = 1.0 / 3;
/// Seconds, and part of the build, that the look at regions gets whatever ran ahead of it took.
constexpr double kShortLook = 0.1, kLeastShare = 0.08;
/// Of that time, for evaluations behind the look.
constexpr double kEvaluationShare = 0.5;
constexpr double kForever = std::numeric_limits<double>::infinity();

}  // namespace

double CheckForecast::look_seconds(double build, double spent) {
  return std::max({kShare * build - spent, kLeastShare * build, kShortLook});
}

CheckForecast::Shares CheckForecast::shares(double look, double evaluations) {
  const bool evaluates = evaluations <= kEvaluationShare * look;
  return {evaluates ? look - evaluations : look, evaluates};
}

/// Beside the load that the machine has.
PlainPace CheckForecast::plain_pace(const BuildWatch::Known& known) const {
  const PlainPace guessed = PlainPace::guessed(known.pace.step);
  if (!plain.has_value()) return guessed;
  return {plain->kernels > 0 ? plain->kernels * known.stretch : guessed.kernels,
          plain->loops * known.stretch, plain->element * known.stretch};
}

/// By kernels that pass every value through memory, with weights in forms of their own; else by
/// plain loops.
double CheckForecast::reference(const BuildWatch::Known& known) const {
  if (!on_processor) return operations * plain_pace(known).loops;
  if (const auto seconds = known.kernels.others(kernels, {operations, bytes, weights}))
    return *seconds;
  return known.kernels.making(kernels, weights) + operations * plain_pace(known).kernels +
         bytes * known.pace.byte / cores;
}

/// Seconds of a worker; all workers wait for a region that takes all cores.
double CheckForecast::region(const NodeCost& cost, const PlainPace& pace) const {
  const double multiplication =
      cost.multiplications > large ? pace.kernels * static_cast<double>(workers) : pace.loops;
  return cost.multiplications * multiplication + cost.elements * pace.element;
}

/// The cheapest regions come first; a region that would take longer than the time left is skipped.
double CheckForecast::regions(double seconds, const BuildWatch::Known& known) const {
  const PlainPace pace = plain_pace(known);
  std::vector<double> takes;
  for (const NodeCost& cost : costs) takes.push_back(region(cost, pace));
  std::ranges::sort(takes);
  double spent = 0;
  for (const double one : takes)
    if (one <= seconds - spent) spent += one / static_cast<double>(workers);
  return spent;
}

/// About half of the values are kept: the others never leave a kernel. They go to new memory, and
/// to get them into its order takes as long again: as in earlier checks, which also tell of a
/// device, which gets the weights too.
double CheckForecast::run(const BuildWatch::Known& known) const {
  if (beside_build) return known.kernels.running_there(kernels, narrow * (bytes + weights));
  return known.kernels.running(operations, bytes) +
         known.kernels.keeping_values(kernels, narrow * bytes);
}

double CheckForecast::seconds(const BuildWatch::Known& known) const {
  const double built = build >= 0 ? build : known.before - reference_ahead;
  double waited = reference_took;
  if (waited < 0)
    waited = beside_build ? std::max(reference(known) - built, 0.0) : reference(known);
  const double ran = run(known);
  const double left = reference_took < 0
                          ? left_after(waited - reference_ahead, reference_begun)
                          : std::max(waited - reference_ahead - reference_begun, 0.0);
  const double evaluation = evaluation_took >= 0 ? evaluation_took
                            : beside_build       ? reference(known)
                                                 : waited;
  double behind = evaluations * evaluation;
  if (all_regions)
    return left + ran + regions(kForever, known) +
           behind_all(known.kernels, plain_pace(known), evaluation, known.passes);
  const double rounding = rounds ? known.kernels.rounding(weights) : 0;
  behind += rounding + (evaluations > (rounds ? 1 : 0) ? known.passes : 0);
  // Half of it would be wrong either way.
  const bool deviates = known.kernels.chance_to_deviate() > 0.5;
  const double ahead = deviates ? rounds * evaluation + rounding : 0;
  const Shares look = shares(look_seconds(built, waited + ran + ahead), behind);
  return left + ran + std::min(regions(look.regions, known), look.regions) +
         (look.evaluates ? behind : ahead);
}

double CheckForecast::behind_all(const BuildForecast& kernels, const PlainPace& pace,
                                 double evaluation, double passes) const {
  double elements = 0;
  for (const NodeCost& cost : costs) elements += cost.elements;
  return evaluations * evaluation + kernels.keeping_values(this->kernels, bytes) +
         elements * pace.element + passes;
}

ReferenceObserver CheckForecast::told_to(BuildWatch& watch, bool is_ahead) const {
  using Clock = std::chrono::steady_clock;
  const auto since_begun = [begun = Clock::now()] {
    return std::chrono::duration<double>(Clock::now() - begun).count();
  };
  const auto tell = [&watch, since_begun, is_ahead](CheckForecast forecast) {
    watch.foresee(BuildWatch::Step::kCheck, BuildWatch::Span::kRest,
                  [forecast, since_begun, is_ahead](const BuildWatch::Known& known) mutable {
                    if (is_ahead) forecast.reference_begun = since_begun();
                    return forecast.seconds(known) - (is_ahead ? 0 : since_begun());
                  });
  };
  tell(*this);
  const auto node_ended = [tell, forecast = *this, since_begun](double left) mutable {
    forecast.reference_took = since_begun() + left;
    tell(forecast);
  };
  const auto packed = [&watch](const KernelWork& work, double kept, double seconds) {
    watch.kernels([&](BuildForecast& kernels) { kernels.made_other(work, kept, seconds); });
  };
  const auto ran = [&watch](const KernelWork& work, double seconds) {
    watch.kernels([&](BuildForecast& kernels) { kernels.ran_other(work, seconds); });
  };
  return {node_ended, packed, ran};
}

}  // namespace tenon
