#pragma once

#include <span>
#include <vector>

namespace tenon::tools {

/// The moments of one query, in milliseconds since the start of the run. Where there is no transfer
/// its start and end are equal.
struct QueryTimes {
  double start_enqueue = 0, end_enqueue = 0;
  double start_h2d = 0, end_h2d = 0;
  double start_compute = 0, end_compute = 0;
  double start_d2h = 0, end_d2h = 0;

  double enqueue() const { return end_enqueue - start_enqueue; }
  double h2d() const { return end_h2d - start_h2d; }
  double compute() const { return end_compute - start_compute; }
  double d2h() const { return end_d2h - start_d2h; }
  double latency() const { return h2d() + compute() + d2h(); }
};

/// The figures of a performance line, in milliseconds.
struct Summary {
  double min = 0, max = 0, mean = 0, median = 0;
  std::vector<double> percentiles;      ///< In the order they were asked for.
  double coefficient_of_variation = 0;  ///< Standard deviation over mean, in percent.
};

/// The value at index max(n - 1 - floor((1 - p/100) * n), 0) of an ascending list; 0 for an empty
/// one.
double percentile(std::span<const double> ascending, double p);
/// The middle value of an ascending list, or the mean of the middle two.
double median(std::span<const double> ascending);
Summary summarize(std::vector<double> values, std::span<const double> percentiles);

/// One value of each query.
std::vector<double> values_of(std::span<const QueryTimes> queries,
                              double (QueryTimes::*value)() const);

}  // namespace tenon::tools
