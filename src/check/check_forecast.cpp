#include "check/check_forecast.h"

#include <algorithm>

namespace tenon {
namespace {

/// The time of a check that finds nothing, over the time of the build: a quarter of both.
constexpr double kShare = 1.0 / 3;
/// Seconds, and part of the build, that the look at regions gets whatever ran ahead of it took.
constexpr double kShortLook = 0.1, kLeastShare = 0.08;

}  // namespace

double CheckForecast::look_seconds(double build, double spent) {
  return std::max({kShare * build - spent, kLeastShare * build, kShortLook});
}

/// Beside the load that the build met so far.
PlainPace CheckForecast::plain_pace(const BuildWatch::Known& known) const {
  if (!plain.has_value()) return PlainPace::guessed(known.pace.step);
  return {plain->kernels * known.stretch, plain->loops * known.stretch};
}

/// By kernels that pass every value through memory, with weights in forms of their own; else by
/// plain loops.
double CheckForecast::reference(const BuildWatch::Known& known) const {
  if (!on_processor) return operations * plain_pace(known).loops;
  const double making = other_types ? known.kernels.making_others(kernels, weights)
                                    : known.kernels.making(kernels, weights);
  return making + operations * plain_pace(known).kernels + bytes * known.pace.byte / cores;
}

/// Regions that would take longer than the time left are passed over.
double CheckForecast::regions(double seconds, double pace) const {
  double spent = 0;
  for (const double cost : costs)
    if (cost * pace <= seconds - spent) spent += cost * pace / threads;
  return spent;
}

double CheckForecast::seconds(const BuildWatch::Known& known) const {
  const double built = build >= 0 ? build : known.before;
  const double whole = reference(known);
  const double expected = beside_build ? std::max(whole - built, 0.0) : whole;
  const double waited = reference_took >= 0 ? reference_took : expected;
  const double run = known.kernels.making(kernels, 0) + known.kernels.running(operations, bytes);
  const double pace = plain_pace(known).loops;
  if (all_regions) return waited * (1 + kEvaluations + 1.0 / threads) + run;
  return waited + run + regions(look_seconds(built, waited + run), pace);
}

}  // namespace tenon
