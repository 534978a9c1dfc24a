#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/build_record.h"
#include "check/deadline.h"
#include "check/observed_run.h"
#include "ops/numerics.h"

namespace tenon {

/// A region whose kernel computed something else than the reference from the same operands.
struct WrongRegion {
  std::string region, tactic;
  std::string description;  ///< "region 'conv1 + relu1', kernel cpu.conv.nhwc: distance 0.3, ...".
};

/// Result of a check of regions.
struct RegionReport {
  int checked = 0, regions = 0;  ///< Those of chance, of plugins and of loops are no regions here.
  std::vector<WrongRegion> wrong;
  /// Why others were not compared, "12 for lack of time"; empty where all were.
  std::string unchecked;
  bool late = false;                         ///< Time did not suffice for all.
  std::vector<BuildRecord::Accuracy> found;  ///< Of each region, in the order of the plan.
  /// Those of another form of the plan, but for `found`.
  void add(RegionReport other);
};

/// Contents of all values of the network that have a name and are not constant. Passes keep the
/// name of a value only where they compute the same.
Result<std::map<std::string, Tensor>> named_values(const Graph& network,
                                                   const std::vector<Tensor>& inputs);

/// Runs a plan and compares the result of each of its regions with the reference's for the operands
/// that the region read: mistakes do not add up, so that one wrong kernel is told from the rounding
/// of all. The reference rounds nothing on the way; where a result is further from it than one
/// rounding, region and reference are evaluated in f64, and as the region's types round. The plan
/// must hold its constants as the reference reads them.
class RegionCheck {
 public:
  RegionCheck(const Plan& plan, const Backend& backend, int threads)
      : plan_(plan), backend_(backend), threads_(threads) {}
  /// Regions are compared so many at a time: beside a device of its own, by all cores.
  static size_t workers(const Backend& backend, int threads);
  /// Regions of more multiplications are evaluated by the processor's kernels: none where these are
  /// the plan's.
  static double large(const Backend& backend);

  /// The plan's outputs. Before regions are compared.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs);
  /// Regions of kinds that were not seen yet come first; regions behind the deadline are for a
  /// later call. `told` is told, by any thread, of seconds that are left as the pace so far has it;
  /// may be empty.
  using Told = std::function<void(double seconds)>;
  RegionReport compare(const Deadline& deadline, const Told& told = {});
  /// How far what the plan's values hold is from what these hold, by name; only those that were
  /// kept, of the same extents. After run().
  std::map<std::string, double> distances_from(const std::map<std::string, Tensor>& values);

 private:
  struct Region {
    const Node* node;
    enum : uint8_t { kOpen, kRight, kWrong, kImpossible } state = kOpen;
    std::string description;
    Deviation deviation = {};  ///< Of what was compared.
    double cost = 1;           ///< Multiplications, roughly; at least one.
    double bytes = 0;          ///< Of operands and results.
  };
  static BuildRecord::Accuracy accuracy_of(const Region& region);
  void list_regions();
  void choose(std::unordered_set<const Value*>& wanted);
  struct Paces;
  double seconds_left(const Paces& paces, double time) const;

  const Plan& plan_;
  const Backend& backend_;
  int threads_;
  std::optional<ObservedRun> observed_;
  std::vector<Region> regions_;
};

}  // namespace tenon
