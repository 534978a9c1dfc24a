// `tenon bench`.
#include <algorithm>

#include "base/counted.h"
#include "tools/commands/engine_source.h"
#include "tools/measure.h"
#include "tools/page.h"
#include "tools/preparation.h"
#include "tools/run_report.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon bench resnet50.plan", "three seconds of inference"},
    {"tenon bench resnet50.onnx --fp16", "builds first"},
    {"tenon bench bert.plan --shapes=input_ids:8x128", "other extents, within the profile"},
    {"tenon bench resnet50.plan --useCudaGraph --duration=10",
     "launches as one graph, ten seconds"},
    {"tenon bench resnet50.plan --layers", "the slowest layers as well"},
    {"tenon bench resnet50.onnx --html=report.html", "a page: times, fusions, memory, accuracy"},
};

constexpr OwnFlag kFlags[] = {
    {"layers", "", "time each layer in a second run, and show the slowest"},
    {"o", "PLAN", "where to save the plan that is built"},
};

constexpr OptionGroup kGroups[] = {OptionGroup::kInference, OptionGroup::kReporting,
                                   OptionGroup::kSystem};

constexpr Usage kUsage = {
    .command = "bench",
    .words = "MODEL|PLAN [flags]",
    .purpose = "Measures how fast a plan runs; of a model, a plan is built first.",
    .examples = kExamples,
    .flags = kFlags,
    .exec_flags = ExecFlags::kAll,
    .groups = kGroups,
};

constexpr size_t kShownLayers = 10;

std::string ms(double milliseconds) {
  return seconds_text(milliseconds / 1e3);
}

void add_metric(Table& table, std::string_view name, const QueryLog& queries, Metric metric,
                const ReportSettings& settings) {
  const Summary summary = queries.summary(metric, settings.percentiles);
  std::vector<std::string> cells = {std::string(name), ms(summary.median), ms(summary.mean),
                                    ms(summary.min), ms(summary.max)};
  for (const double percentile : summary.percentiles) cells.push_back(ms(percentile));
  table.add(std::move(cells));
}

void show_times(Session& session, const Measured& measured) {
  const QueryLog& queries = measured.queries;
  const ReportSettings& settings = measured.settings;
  std::vector<std::string> head = {"", "median", "mean", "min", "max"};
  for (const double percentile : settings.percentiles)
    head.push_back(fmt::format("{:g} %", percentile));
  Table table(fmt::format("l{}", std::string(head.size() - 1, 'r')));
  table.add(std::move(head));
  add_metric(table, "latency", queries, &QueryTimes::latency, settings);
  if (!settings.on_cpu) {
    add_metric(table, "computation", queries, &QueryTimes::compute, settings);
    add_metric(table, "launch", queries, &QueryTimes::enqueue, settings);
    add_metric(table, "copy in", queries, &QueryTimes::h2d, settings);
    add_metric(table, "copy out", queries, &QueryTimes::d2h, settings);
  }
  const double wall = queries.wall_ms();
  session.heading("Speed");
  session.line("  {:.4g} queries a second: {} in {}",
               wall > 0 ? 1e3 * static_cast<double>(queries.count()) / wall : 0.0, queries.count(),
               seconds_text(wall / 1e3));
  session.line("\n{}", table.text());
}

void show_layers(Session& session, const Measured& measured) {
  if (measured.layers.empty()) return;
  std::vector<LayerTimes> layers = measured.layers;
  std::ranges::stable_sort(layers, std::greater(), &LayerTimes::median_ms);
  double all = 0;
  for (const LayerTimes& layer : layers) all += layer.median_ms;
  Table table("rrl");
  table.add({"median", "share", fmt::format("slowest of {}", counted(layers.size(), "layer"))});
  for (size_t i = 0; i < std::min(layers.size(), kShownLayers); ++i)
    table.add({ms(layers[i].median_ms),
               fmt::format("{:.1f} %", all > 0 ? 100 * layers[i].median_ms / all : 0.0),
               layers[i].name});
  session.heading("Layers");
  session.line("{}", table.text());
}

/// Whether the device computes all the time, so that more streams cannot raise the throughput.
bool is_busy(const Measured& measured) {
  constexpr double kBusy = 0.95;  // Of tools/report/advice.cpp.
  const double compute = measured.queries.summary(&QueryTimes::compute, {}).mean *
                         static_cast<double>(measured.queries.count());
  return compute >= kBusy * measured.queries.wall_ms();
}

void show_next(Session& session, const CommandLine& line, const Arguments& arguments,
               const Measured& measured) {
  NextCommands next;
  const bool is_built = !arguments.has(OptionId::loadEngine);
  const std::string file =
      shell_word(arguments.text(is_built ? OptionId::onnx : OptionId::loadEngine)) +
      repeated_flags(line);
  if (measured.layers.empty())
    next.add(fmt::format("tenon bench {} --layers", file), "which layers take the time");
  if (arguments.has(OptionId::html))
    next.add(fmt::format("open {} in a browser", arguments.text(OptionId::html)),
             "times, fusions, memory, accuracy");
  else
    next.add(fmt::format("tenon bench {} --html=report.html", file), "why: a page to look at");
  if (!measured.settings.on_cpu && !arguments.flag(OptionId::useCudaGraph))
    next.add(fmt::format("tenon bench {} --useCudaGraph", file), "launches as one graph");
  if (measured.settings.streams == 1 && !is_busy(measured))
    next.add(fmt::format("tenon bench {} --infStreams=2", file), "throughput of two at a time");
  session.heading("Next");
  session.line("{}", next.text());
}

Status bench(Session& session, const CommandLine& line) {
  TENON_ASSIGN(Arguments arguments, prepare(session, line, /*with_file=*/true, Reports::kWritten));
  const bool reports = wants_report(arguments);
  if (line.has("layers")) arguments.give(OptionId::separateProfileRun, "");
  ReportParts report = new_report(arguments, line.typed(), "tenon bench");
  if (const std::unique_ptr<IGpu> gpu = find_gpu(arguments, session.console()); gpu && reports)
    add_memory_rate(report, gpu->describe());
  TENON_ASSIGN(const LoadedEngine engine,
               engine_of(session, arguments, reports ? &report.build : nullptr));
  session.enter(Stage::kRun);
  Measured measured;
  measured.wants_layers = line.has("layers");
  TENON_TRY(measure_engine(*engine.engine, arguments, session.console(), &measured,
                           reports ? &report : nullptr));
  show_times(session, measured);
  show_layers(session, measured);
  if (reports) TENON_TRY(write_report(std::move(report), arguments, session.console()));
  session.show_warnings();
  show_next(session, line, arguments, measured);
  return {};
}

}  // namespace

int run_bench(std::span<const char* const> words) {
  return run_with_line(kUsage, words, bench);
}

}  // namespace tenon::tools
