// `tenon run`.
#include <algorithm>
#include <cmath>

#include "tools/commands/comparison.h"
#include "tools/commands/engine_source.h"
#include "tools/debug_dump.h"
#include "tools/measure.h"
#include "tools/outputs.h"
#include "tools/page.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon run resnet50.plan", "random inputs, the same each time"},
    {"tenon run resnet50.plan --loadInputs=input:cat.bin", "raw values from a file"},
    {"tenon run bert.onnx --shapes=input_ids:1x16", "builds first, with these extents"},
    {"tenon run resnet50.onnx --fp16 --compare=onnxruntime", "errors, and the first bad tensor"},
    {"tenon run resnet50.plan --exportOutput=out.json", "all values of the outputs as JSON"},
};

constexpr OwnFlag kFlags[] = {
    {"compare", "WHOM", "compare the outputs with onnxruntime (through Python) or reference"},
    {"model", "FILE", "the ONNX model of a plan, for --compare"},
    {"tolerance", "N", "distance that is agreement still; by default as the precisions round"},
    {"o", "PLAN", "where to save the plan that is built"},
};

constexpr OptionGroup kGroups[] = {OptionGroup::kInference, OptionGroup::kReporting,
                                   OptionGroup::kSystem};

constexpr Usage kUsage = {
    .command = "run",
    .words = "MODEL|PLAN [flags]",
    .purpose = "Runs a plan once and shows its outputs; of a model, a plan is built first.",
    .examples = kExamples,
    .flags = kFlags,
    .exec_flags = ExecFlags::kAll,
    .groups = kGroups,
};

constexpr size_t kShownValues = 4;

/// A summary of many values on one line.
std::vector<std::string> summary_cells(const OutputValues& output) {
  double min = INFINITY, max = -INFINITY, sum = 0;
  size_t finite = 0;
  for (const double value : output.values) {
    if (!std::isfinite(value)) continue;
    min = std::min(min, value);
    max = std::max(max, value);
    sum += value;
    ++finite;
  }
  const auto begin = output.values.begin();
  const auto end =
      begin + static_cast<std::ptrdiff_t>(std::min(kShownValues, output.values.size()));
  const std::string first = fmt::format("{:.4g}", fmt::join(begin, end, " "));
  if (finite == 0) return {"-", "-", "-", first};
  return {fmt::format("{:.4g}", min), fmt::format("{:.4g}", max),
          fmt::format("{:.4g}", sum / static_cast<double>(finite)), first};
}

void show_outputs(Session& session, const Runner& runner) {
  Table table("llrrrl");
  table.add({"output", "shape", "min", "max", "mean", "first values"});
  for (const auto& binding : runner.bindings()) {
    if (binding->is_input) continue;
    const OutputValues output = binding->values();
    const auto wrong =
        std::ranges::count_if(output.values, [](double v) { return !std::isfinite(v); });
    if (wrong > 0)
      session.console().warning("output '{}' has {} of {} values that are not finite", output.name,
                                wrong, output.values.size());
    std::vector<std::string> cells = {output.name, output.dimensions};
    std::ranges::move(summary_cells(output), std::back_inserter(cells));
    table.add(std::move(cells));
  }
  session.heading("Outputs");
  session.line("{}", table.text());
}

/// One run, compared with the yardstick.
Status run_and_compare(Session& session, const CommandLine& line, const Arguments& arguments) {
  const auto yardstick = parse_yardstick(line.text("compare"));
  if (!yardstick)
    return session.fail(ErrorId::kFlagValue, "--compare={}: expected one of onnxruntime, reference",
                        line.text("compare"));
  const bool plan = arguments.has(OptionId::loadEngine);
  if (plan && !line.has("model"))
    return session.fail(ErrorId::kMissingArgument,
                        "--compare of a plan needs its ONNX model: --model=FILE");
  TENON_ASSIGN(const double tolerance, tolerance_of(session, line));
  TENON_ASSIGN(const Computed computed, compute_by_engine(session, arguments, nullptr, false));
  const std::string model = plan ? line.text("model") : arguments.text(OptionId::onnx);
  return compare_with(session, *yardstick, arguments, model, computed, tolerance);
}

Status run(Session& session, const CommandLine& line) {
  TENON_ASSIGN(const Arguments arguments, prepare(session, line));
  if (line.has("compare")) return run_and_compare(session, line, arguments);
  TENON_ASSIGN(const LoadedEngine engine, engine_of(session, arguments));
  session.enter(Stage::kRun);
  TENON_ASSIGN(const auto runners, make_runners(*engine.engine, arguments, session.console()));
  Runner& runner = *runners.front();
  TENON_TRY(
      write_layer_information(*engine.engine, &runner.context(), arguments, session.console()));
  std::vector<QueryTimes> times;
  const Clock clock;
  TENON_TRY(runner.query(clock, times));
  TENON_TRY(runner.finish(times));
  show_outputs(session, runner);
  TENON_TRY(write_outputs(runner, arguments, session.console()));
  TENON_TRY(dump_debug_tensors(runner.context(), arguments, session.console()));
  if (!times.empty())
    session.line("\n  ran in {}, the first time; `tenon bench` measures",
                 seconds_text(times.back().latency() / 1e3));
  return {};
}

}  // namespace

int run_run(std::span<const char* const> words) {
  return run_with_line(kUsage, words, run);
}

}  // namespace tenon::tools
