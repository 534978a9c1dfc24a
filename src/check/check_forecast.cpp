#include "check/check_forecast.h"

#include <algorithm>
#include <limits>

namespace tenon {
namespace {

/// The time of a check that finds nothing, over the time of the build: a quarter of both.
constexpr double kShare = 1.0 / 3;
/// Seconds, and part of the build, that the look at regions gets whatever ran ahead of it took.
constexpr double kShortLook = 0.1, kLeastShare = 0.08;
constexpr double kForever = std::numeric_limits<double>::infinity();
/// Steps of the machine to read, write, widen and compare an element of a region.
constexpr double kElement = 5;

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
  return known.kernels.making(kernels, weights) + operations * plain_pace(known).kernels +
         bytes * known.pace.byte / cores;
}

/// Regions that would take longer than the time left are passed over.
double CheckForecast::regions(double seconds, const BuildWatch::Known& known) const {
  const double loops = plain_pace(known).loops, element = kElement * known.pace.step;
  double spent = 0;
  for (const NodeCost& cost : costs) {
    const double takes = cost.multiplications * loops + cost.elements * element;
    if (takes <= seconds - spent) spent += takes / threads;
  }
  return spent;
}

double CheckForecast::seconds(const BuildWatch::Known& known) const {
  const double built = build >= 0 ? build : known.before - reference_ahead;
  double waited = reference_took;
  if (waited < 0)
    waited = beside_build ? std::max(reference(known) - built, 0.0) : reference(known);
  const double run = known.kernels.making(kernels, 0) + known.kernels.running(operations, bytes);
  const double left = std::max(waited - reference_ahead, 0.0);
  if (all_regions) return left + waited * kEvaluations + run + regions(kForever, known);
  return left + run + regions(look_seconds(built, waited + run), known);
}

}  // namespace tenon
