#include "tools/report.h"

#include <algorithm>
#include <array>

namespace tenon::tools {
namespace {

constexpr size_t kShownTraceLines = 200;
constexpr double kEnqueueBound = 0.8;
constexpr double kStablePercent = 2.5;

double mean_of(std::span<const QueryTimes> queries, Metric value) {
  double sum = 0;
  for (const QueryTimes& query : queries) sum += (query.*value)();
  return sum / static_cast<double>(queries.size());
}

std::string metric_line(std::string_view name, const Summary& summary,
                        std::span<const double> percentiles) {
  std::string line =
      fmt::format("{}: min = {:g} ms, max = {:g} ms, mean = {:g} ms, median = {:g} ms", name,
                  summary.min, summary.max, summary.mean, summary.median);
  for (size_t i = 0; i < percentiles.size(); ++i) {
    line += fmt::format(", percentile({:g}%) = {:g} ms", percentiles[i], summary.percentiles[i]);
  }
  return line;
}

struct Summaries {
  Summary latency, enqueue, h2d, compute, d2h;
};

Summaries summarize_all(const QueryLog& queries, std::span<const double> percentiles) {
  const auto of = [&](Metric metric) { return queries.summary(metric, percentiles); };
  return {of(&QueryTimes::latency), of(&QueryTimes::enqueue), of(&QueryTimes::h2d),
          of(&QueryTimes::compute), of(&QueryTimes::d2h)};
}

void warn_transfer_bound(Console& console, std::string_view name, const Summary& transfer,
                         double compute) {
  if (transfer.median <= 0 || transfer.median < compute) return;
  console.warning(
      "* {}-bound: copying takes as long as computing (median {:g} ms of {:g} ms). "
      "--noDataTransfers "
      "measures the computation alone.",
      name, transfer.median, compute);
}

void print_warnings(Console& console, const Summaries& all, const ReportSettings& settings) {
  const double compute = all.compute.median;
  if (!settings.on_cpu && all.enqueue.median > kEnqueueBound * compute) {
    console.warning(
        "* Enqueue-bound: launching takes {:g} ms of {:g} ms of computation, so the GPU may be "
        "waiting for "
        "the host. --useCudaGraph makes launches cheaper.",
        all.enqueue.median, compute);
  }
  warn_transfer_bound(console, "H2D", all.h2d, compute);
  warn_transfer_bound(console, "D2H", all.d2h, compute);
  if (all.compute.coefficient_of_variation > kStablePercent) {
    console.warning(
        "* {} time is unstable: its coefficient of variation is {:.2f}%. {}",
        settings.on_cpu ? "Compute" : "GPU compute", all.compute.coefficient_of_variation,
        settings.on_cpu  ? "Other work on this machine or changing clocks may be the cause."
        : settings.spins ? "Fixed GPU clocks may help."
                         : "Fixed GPU clocks or --useSpinWait may help.");
  }
  if (settings.streams > 1) {
    console.warning(
        "* With {} inference streams the latencies contain waiting for each other; only the "
        "throughput is "
        "accurate.",
        settings.streams);
  }
}

constexpr std::array kExplanations = {
    "Total Host Walltime: the time from the first query's start (after the warm-up) to the last "
    "query's end.",
    "GPU Compute Time: how long the device computed for one query.",
    "Total GPU Compute Time: the sum over all queries. Well below Total Host Walltime, the device "
    "was waiting.",
    "Enqueue Time: how long the host was in the enqueue call of one query.",
    "H2D Latency: how long the inputs of one query were copied to the device.",
    "D2H Latency: how long the outputs of one query were copied from the device.",
    "Latency: H2D Latency, GPU Compute Time and D2H Latency of one query added up.",
    "Throughput: queries divided by Total Host Walltime. A batch counts as one query.",
};

void print_explanations(Console& console, bool on_cpu) {
  console.info("Explanations of the performance metrics are printed in the verbose logs.");
  console.verbose("");
  console.verbose("=== Explanations of the performance metrics ===");
  for (const char* line : kExplanations) console.verbose("{}", line);
  if (on_cpu) {
    console.verbose(
        "On the CPU device the enqueue call computes, so Enqueue Time and GPU Compute Time are "
        "one.");
  }
}

}  // namespace

void print_trace(Console& console, const QueryLog& log, int average_runs) {
  const std::span<const QueryTimes> queries = log.kept();
  console.info("");
  console.info("=== Trace details ===");
  console.info("Trace averages of {} runs:", average_runs);
  if (log.stride() > 1) console.info("One query of {} is kept: {} ran", log.stride(), log.count());
  const size_t group = static_cast<size_t>(std::max(average_runs, 1));
  const size_t lines = queries.size() / group;
  for (size_t i = 0; i < lines; ++i) {
    if (lines > 2 * kShownTraceLines && i == kShownTraceLines) {
      console.info("... Omitting {} lines", lines - 2 * kShownTraceLines);
      i = lines - kShownTraceLines;
    }
    const auto part = queries.subspan(i * group, group);
    console.info(
        "Average on {} runs - GPU latency: {:g} ms - Host latency: {:g} ms (enqueue {:g} ms)",
        group, mean_of(part, &QueryTimes::compute), mean_of(part, &QueryTimes::latency),
        mean_of(part, &QueryTimes::enqueue));
  }
}

void print_summary(Console& console, const QueryLog& queries, double wall_ms,
                   const ReportSettings& settings) {
  const std::span<const double> percentiles = settings.percentiles;
  const Summaries all = summarize_all(queries, percentiles);
  const auto count = static_cast<double>(queries.count());
  console.info("");
  console.info("=== Performance summary ===");
  console.info("Throughput: {:g} qps", wall_ms > 0 ? count / wall_ms * 1000 : 0.0);
  console.info("{}", metric_line("Latency", all.latency, percentiles));
  console.info("{}", metric_line("Enqueue Time", all.enqueue, percentiles));
  console.info("{}", metric_line("H2D Latency", all.h2d, percentiles));
  console.info("{}", metric_line("GPU Compute Time", all.compute, percentiles));
  console.info("{}", metric_line("D2H Latency", all.d2h, percentiles));
  console.info("Total Host Walltime: {:g} s", wall_ms / 1000);
  console.info("Total GPU Compute Time: {:g} s", all.compute.mean * count / 1000);
  print_warnings(console, all, settings);
  print_explanations(console, settings.on_cpu);
  console.info("");
}

std::vector<LayerTimes> layer_times(std::span<const LayerRuns> runs) {
  std::vector<LayerTimes> layers;
  double whole = 0;
  for (const LayerRuns& run : runs) {
    std::vector<double> sorted(run.times.kept().begin(), run.times.kept().end());
    std::ranges::sort(sorted);
    const auto count = static_cast<double>(std::max<size_t>(run.times.count(), 1));
    layers.push_back({run.name, run.total_ms, run.total_ms / count, median(sorted), 0});
    whole += run.total_ms;
  }
  for (LayerTimes& layer : layers) layer.percentage = whole > 0 ? layer.total_ms / whole * 100 : 0;
  return layers;
}

void print_profile(Console& console, std::span<const LayerTimes> layers, int iterations) {
  const auto row = [&](const LayerTimes& layer) {
    console.requested("{:11.2f} {:12.4f} {:12.4f} {:9.1f}   {}", layer.total_ms, layer.average_ms,
                      layer.median_ms, layer.percentage, layer.name);
  };
  LayerTimes total{"Total", 0, 0, 0, 100};
  console.requested("");
  console.requested("=== Profile ({} iterations ) ===", iterations);
  console.requested("   Time(ms)     Avg.(ms)   Median(ms)   Time(%)   Layer");
  for (const LayerTimes& layer : layers) {
    total.total_ms += layer.total_ms;
    total.average_ms += layer.average_ms;
    total.median_ms += layer.median_ms;
    if (layer.total_ms > 0) row(layer);
  }
  row(total);
  console.requested("");
}

}  // namespace tenon::tools
