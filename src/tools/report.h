#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/console.h"
#include "tools/statistics.h"

namespace tenon::tools {

/// What a measured run is reported with.
struct ReportSettings {
  int average_runs = 10;
  std::vector<double> percentiles = {90, 95, 99};
  int streams = 1;
  bool on_cpu = true;  ///< Launch and computation are one: no enqueue-bound warning.
};

/// "=== Trace details ===": the averages over each `average_runs` queries, the first and the last
/// 200 lines of them.
void print_trace(Console& console, std::span<const QueryTimes> queries, int average_runs);

/// "=== Performance summary ===" and the warnings that follow from it. `wall_ms` is the time of the
/// measured part.
void print_summary(Console& console, std::span<const QueryTimes> queries, double wall_ms,
                   const ReportSettings& settings);

/// The console's table of "=== Profile (N iterations ) ===".
struct LayerTimes {
  std::string name;
  double total_ms = 0;
  double average_ms = 0;
  double median_ms = 0;
  double percentage = 0;
};
/// Totals, averages, medians and percentages from the times of each run, in the order given.
std::vector<LayerTimes> layer_times(
    std::span<const std::pair<std::string, std::vector<double>>> runs);
void print_profile(Console& console, std::span<const LayerTimes> layers, int iterations);

}  // namespace tenon::tools
