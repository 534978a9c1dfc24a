#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace tenon {

/// Times of a run's steps on a device where an event between two steps holds up the run: it costs
/// some microseconds, as long as a small step takes, and steps no longer start early.
///
/// One run has an event behind each step, which gives proportions. Each later run has one event
/// inside alone, at a boundary between steps that next() names, and one at its end: a step's time
/// is the difference of its two boundaries. Steps between two boundaries that were met so far share
/// the difference as the proportions have it, so that the sum is a whole run's from the second run
/// on. Boundaries are met from the middle of the largest gaps on, and all of them again and again.
class StepBoundaries {
 public:
  /// `proportions`: milliseconds of each step, of the run with all events.
  explicit StepBoundaries(std::vector<double> proportions);

  /// The next run's boundary: the number of steps ahead of it; that of all steps for none inside.
  size_t next() const { return order_[turn_]; }
  /// The next run is over: milliseconds up to the boundary and up to the end.
  void add(double ahead, double all);
  /// Of each step, in milliseconds.
  std::vector<double> times() const;

 private:
  /// Newest of the runs of a boundary, of which the median counts.
  struct Seen {
    std::vector<double> ahead, all;
    size_t count = 0;
    void add(double to, double whole);
  };
  double event_cost(double whole) const;
  std::map<size_t, double> places() const;

  std::vector<double> proportions_;
  std::vector<size_t> order_;  ///< Of boundaries; first the end, then the beginning.
  size_t turn_ = 0;
  int runs_ = 0;  ///< Of this turn.
  std::map<size_t, Seen> seen_;
};

}  // namespace tenon
