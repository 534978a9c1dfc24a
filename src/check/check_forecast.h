#pragma once

#include <limits>
#include <vector>

#include "check/plain_pace.h"
#include "check/processor_reference.h"
#include "check/sample.h"
#include "select/build_watch.h"

namespace tenon {

/// How long the self-check of a build will take: the reference, a run of the plan, and a look at
/// its regions, for which there is a share of the build's time.
struct CheckForecast {
  std::vector<NodeCost> costs;      ///< Of each node of the network.
  double operations = 0;            ///< All multiplications.
  double bytes = 0;                 ///< Of all values that the network makes.
  double kernels = 0, weights = 0;  ///< Nodes, and bytes of their constants.
  double narrow = 1;                ///< The plan's bytes over these.
  size_t workers = 1;               ///< That compare regions.
  /// Regions of more multiplications are evaluated by the processor's kernels on all cores.
  double large = std::numeric_limits<double>::infinity();
  int cores = 1;              ///< Of the reference.
  bool on_processor = false;  ///< The reference runs kernels that were not tuned.
  bool beside_build = false;  ///< The reference is evaluated while the build goes on.
  bool all_regions = false;   ///< However long that takes.
  /// Evaluations of the network behind the look at regions, where it leaves time for them: with
  /// rounding, and as the passes leave it, which are run for it once more. Of all regions: of the
  /// values inside too, however long that takes.
  double evaluations = 0;
  bool rounds = false;             ///< One of these is with rounding: where outputs deviate at all,
                                   ///< it is done ahead of the look, however long it takes.
  double build = -1;               ///< Seconds that the build took; negative while it goes on.
  double reference_took = -1;      ///< The same of waiting for the reference.
  double evaluation_took = -1;     ///< The same of the reference by itself.
  double reference_ahead = 0;      ///< The part of it that has passed while the build went on.
  double reference_begun = 0;      ///< So long ago, where it is evaluated now; else 0.
  std::optional<PlainPace> plain;  ///< Where it was measured.

  double seconds(const BuildWatch::Known& known) const;
  /// Behind all regions: evaluations that take so long each, of which one keeps and one compares
  /// all values, and so many seconds of passes.
  double behind_all(const BuildForecast& kernels, const PlainPace& pace, double evaluation,
                    double passes) const;
  /// The reference begins to be evaluated, where the build waits for it sooner or later: tells the
  /// watch, first as foreseen, then behind each node. `is_ahead`: the build still goes on.
  ReferenceObserver told_to(BuildWatch& watch, bool is_ahead) const;
  /// For the look at regions where nothing is found, after the reference was waited for and the
  /// plan ran, which took `spent`.
  static double look_seconds(double build, double spent);
  /// The part of these for the look at regions alone; and whether the evaluations behind it, which
  /// take so long, are done in the rest.
  struct Shares {
    double regions = 0;
    bool evaluates = false;
  };
  static Shares shares(double look, double evaluations);

 private:
  double reference(const BuildWatch::Known& known) const;
  double run(const BuildWatch::Known& known) const;
  PlainPace plain_pace(const BuildWatch::Known& known) const;
  double region(const NodeCost& cost, const PlainPace& pace) const;
  double regions(double seconds, const BuildWatch::Known& known) const;
};

}  // namespace tenon
