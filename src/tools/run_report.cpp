#include "tools/run_report.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>

#include "base/parallel.h"
#include "tenon/report.h"
#include "tools/exports.h"
#include "tools/report/page.h"
#include "tools/report/timeline.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

/// Queries whose times a report keeps for its timeline.
constexpr size_t kKeptQueries = 50;
/// Beyond all caches, for a copy that goes to memory; how often it is done.
constexpr size_t kCopiedBytes = size_t{64} << 20;
constexpr int kCopies = 6;

constexpr OptionId kPrecisionFlags[] = {OptionId::fp16,         OptionId::bf16, OptionId::int8,
                                        OptionId::fp8,          OptionId::int4, OptionId::best,
                                        OptionId::stronglyTyped};
constexpr OptionId kPrecisionTexts[] = {OptionId::layerPrecisions, OptionId::layerOutputTypes};

Json figures(const QueryLog& queries, Metric metric) {
  static constexpr double kPercentiles[] = {90, 95, 99};
  const Summary summary = queries.summary(metric, kPercentiles);
  return {{"min", summary.min},
          {"max", summary.max},
          {"mean", summary.mean},
          {"median", summary.median},
          {"p90", summary.percentiles[0]},
          {"p95", summary.percentiles[1]},
          {"p99", summary.percentiles[2]}};
}

Json summary_of(const QueryLog& queries) {
  const Summary compute = queries.summary(&QueryTimes::compute, {});
  const auto count = static_cast<double>(queries.count());
  const double wall = queries.wall_ms();
  return {{"queries", queries.count()},
          {"throughput", wall > 0 ? count / wall * 1e3 : 0},
          {"wallMs", wall},
          {"computeMs", compute.mean * count},
          {"variationPercent", compute.coefficient_of_variation},
          {"latency", figures(queries, &QueryTimes::latency)},
          {"enqueue", figures(queries, &QueryTimes::enqueue)},
          {"h2d", figures(queries, &QueryTimes::h2d)},
          {"compute", figures(queries, &QueryTimes::compute)},
          {"d2h", figures(queries, &QueryTimes::d2h)}};
}

/// Those that ran last.
Json kept_queries(const QueryLog& queries) {
  const auto& kept = queries.kept();
  const size_t count = std::min(kept.size(), kKeptQueries);
  const auto json = parse_json(times_json(std::span(kept).last(count)), "the trace");
  return json.ok() ? *json : Json();
}

}  // namespace

bool wants_report(const Arguments& arguments) {
  using enum OptionId;
  return arguments.has(html) || arguments.has(exportReport) || arguments.has(exportTimeline);
}

ReportParts new_report(const Arguments& arguments, std::span<const char* const> words,
                       std::string_view program) {
  ReportParts parts;
  const OptionId model = arguments.has(OptionId::onnx) ? OptionId::onnx : OptionId::loadEngine;
  const std::string file = arguments.text(model);
  parts.title = file.substr(file.find_last_of('/') + 1);
  parts.command = program;
  for (const char* word : words) parts.command += fmt::format(" {}", shell_word(word));
  parts.library = fmt::format("{}.{}.{}", getInferLibMajorVersion(), getInferLibMinorVersion(),
                              getInferLibPatchVersion());
  const auto name_of = [](OptionId id) { return option_rows()[static_cast<size_t>(id)].name; };
  for (const OptionId id : kPrecisionFlags)
    if (arguments.flag(id)) parts.asked.push_back(fmt::format("--{}", name_of(id)));
  for (const OptionId id : kPrecisionTexts)
    if (arguments.has(id))
      parts.asked.push_back(fmt::format("--{}={}", name_of(id), arguments.text(id)));
  return parts;
}

Json library_json(nvinfer1::IHostMemory* text) {
  const std::unique_ptr<nvinfer1::IHostMemory> owned(text);
  if (!owned) return nullptr;
  auto json = parse_json({static_cast<const char*>(owned->data()), owned->size()}, "a report");
  return json.ok() ? std::move(json).value() : Json();
}

void add_measurements(ReportParts& parts, nvinfer1::IExecutionContext& context,
                      const QueryLog& queries, std::span<const LayerTimes> layers, bool on_cpu) {
  parts.run = library_json(getRunReport(context));
  parts.device = text_of(parts.run, "device");
  parts.summary = summary_of(queries);
  parts.queries = kept_queries(queries);
  const auto profile = parse_json(profile_json(layers, 0), "the profile");
  if (profile.ok()) parts.profile = *profile;
  if (!on_cpu) {
    parts.kernels = library_json(getKernelReport(context));
    return;
  }
  parts.bytes_per_second = measured_copy_rate();
  parts.bytes_source = "a copy of memory, measured";
}

void add_memory_rate(ReportParts& parts, const GpuDescription& gpu) {
  parts.bytes_per_second = 2e9 * gpu.memoryClockGhz * gpu.memoryBusBits / 8;
  parts.bytes_source = "memory clock and bus width";
}

Status write_report(ReportParts parts, const Arguments& arguments, Console& console) {
  const Json document = make_report(std::move(parts));
  const auto write = [&](OptionId id, const std::string& text) -> Status {
    TENON_TRY(write_file(arguments.text(id), text));
    console.info("Wrote the report to {}", arguments.text(id));
    return {};
  };
  if (arguments.has(OptionId::html)) TENON_TRY(write(OptionId::html, report_page(document)));
  if (arguments.has(OptionId::exportReport))
    TENON_TRY(write(OptionId::exportReport, dumped(document) + "\n"));
  if (arguments.has(OptionId::exportTimeline))
    TENON_TRY(write(OptionId::exportTimeline, report_timeline(document) + "\n"));
  return {};
}

double measured_copy_rate() {
  const size_t threads = usable_cores();
  const size_t part = kCopiedBytes / threads;
  std::vector<char> from(part * threads, 1), to(part * threads, 2);
  double best = 0;
  for (int i = 0; i < kCopies; ++i) {
    const auto start = std::chrono::steady_clock::now();
    {
      std::vector<std::jthread> work_queue;
      for (size_t t = 0; t < threads; ++t)
        work_queue.emplace_back(
            [&, t] { std::memcpy(to.data() + t * part, from.data() + t * part, part); });
    }
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, 2.0 * static_cast<double>(part * threads) / seconds.count());
  }
  return best;
}

}  // namespace tenon::tools
