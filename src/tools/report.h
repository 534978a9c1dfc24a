#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/console.h"
#include "tools/query_log.h"

namespace tenon::tools {

/// The data for the report of a measured run.
struct ReportSettings {
  int average_runs = 10;
  std::vector<double> percentiles = {90, 95, 99};
  int streams = 1;
  bool on_cpu = true;  ///< Launch and computation are one: no enqueue-bound warning.
  bool spins = false;  ///< --useSpinWait.
};

/// "=== Trace details ===": the averages over each `average_runs` queries, the first and the last
/// 200 lines of them; of the queries that are kept.
void print_trace(Console& console, const QueryLog& queries, int average_runs);

/// "=== Performance summary ===" and the warnings that follow from it. `wall_ms` is the time of the
/// measured part.
void print_summary(Console& console, const QueryLog& queries, double wall_ms,
                   const ReportSettings& settings);

/// The console's table of "=== Profile (N iterations ) ===".
struct LayerTimes {
  std::string name;
  double total_ms = 0;
  double average_ms = 0;
  double median_ms = 0;
  double percentage = 0;
};
/// The times of one layer in the runs, in bounded memory.
struct LayerRuns {
  std::string name;
  Thinned<float> times{kMost};
  double total_ms = 0;

  static constexpr size_t kMost = 1 << 16;
  void add(float milliseconds) {
    times.add(milliseconds);
    total_ms += milliseconds;
  }
};
/// Totals, averages, medians and percentages from the times of each run, in the order given.
std::vector<LayerTimes> layer_times(std::span<const LayerRuns> runs);
void print_profile(Console& console, std::span<const LayerTimes> layers, int iterations);

}  // namespace tenon::tools
