#include "tools/commands/engine_source.h"

#include <chrono>

#include "base/counted.h"
#include "tools/build.h"
#include "tools/commands/build_page.h"
#include "tools/device_info.h"
#include "tools/exports.h"
#include "tools/interrupt.h"
#include "tools/option_report.h"
#include "tools/page.h"
#include "tools/preparation.h"
#include "tools/refit.h"
#include "tools/run_report.h"

namespace tenon::tools {

bool is_plan(const std::string& file) {
  return plan_version(file).ok();
}

bool is_meant_as_plan(const std::string& file) {
  return is_plan(file) || file.ends_with(".plan") || file.ends_with(".engine");
}

Status expect_model(Session& session, std::string_view command, const std::string& file) {
  if (!is_meant_as_plan(file)) return {};
  if (const auto size = file_size(file); !size.ok())
    return session.fail(ErrorId::kNoModelFile, "{}", size.error().message);
  return session.fail(ErrorId::kPlanForModel, "'{}' is a plan already; {} takes a model", file,
                      command);
}

Result<Arguments> prepare(Session& session, const CommandLine& line, bool with_file,
                          Reports reports) {
  Arguments arguments = line.arguments();
  if (with_file && !line.words().empty()) {
    const std::string& file = line.words().front();
    const bool plan = is_plan(file) || (!arguments.has(OptionId::onnx) && is_meant_as_plan(file));
    if (plan && (line.has("o") || arguments.has(OptionId::saveEngine)))
      return session.fail(ErrorId::kFlagsExclude,
                          "{} exclude each other: '{}' is a plan already, and nothing is built",
                          line.has("o") ? "-o and a plan" : "--saveEngine and a plan", file);
    arguments.give(plan ? OptionId::loadEngine : OptionId::onnx, file);
  }
  if (reports == Reports::kRefused && wants_report(arguments))
    return session.fail(ErrorId::kRefusedFlag,
                        "reports are written by `tenon bench` and `tenon report`: --html, "
                        "--exportReport and --exportTimeline cannot be used here");
  if (line.has("o")) {
    Status writable = check_writable(line.text("o"), arguments.text(OptionId::onnx));
    if (!writable.ok()) return std::move(writable).error().with_context("-o");
    arguments.give(OptionId::saveEngine, line.text("o"));
  }
  if (arguments.flag(OptionId::verbose)) session.console().set_threshold(Severity::kVerbose);
  TENON_TRY(check_values(arguments));
  TENON_TRY(check_outputs(arguments));
  for (const auto* remarks : {&arguments.renamed(), &arguments.repeated()})
    for (const std::string& remark : *remarks) session.console().warning("{}", remark);
  const std::unique_ptr<IGpu> gpu = find_gpu(arguments, session.console());
  TENON_TRY(check_support(session.console(), arguments, /*on_cpu=*/gpu == nullptr));
  TENON_TRY(open_plugins(arguments, session.console()));
  watch_interrupts();
  return arguments;
}

std::string repeated_flags(const CommandLine& line) {
  constexpr std::string_view kRepeated[] = {"--shapes=",
                                            "--minShapes=",
                                            "--optShapes=",
                                            "--maxShapes=",
                                            "--profile=",
                                            "--device=",
                                            "--fp16",
                                            "--bf16",
                                            "--int8",
                                            "--fp8",
                                            "--best",
                                            "--stronglyTyped",
                                            "--builderOptimizationLevel="};
  std::string text;
  for (const std::string_view word : line.typed())
    if (std::ranges::any_of(kRepeated, [&](auto flag) {
          return flag.ends_with('=') ? word.starts_with(flag) : word == flag;
        }))
      text += " " + shell_word(word);
  return text;
}

std::string device_text(const Arguments& arguments, Console& console) {
  if (const std::unique_ptr<IGpu> gpu = find_gpu(arguments, console)) {
    const GpuDescription description = gpu->describe();
    return fmt::format("{}, compute capability {}.{}", description.name,
                       description.computeCapability / 10, description.computeCapability % 10);
  }
  const CpuInfo cpu = read_cpu_info();
  return fmt::format("{}, {}", cpu.name, counted(cpu.cores, "core"));
}

Result<PlanSource> build_on_page(Session& session, const Arguments& arguments,
                                 const std::string& log, Json* report) {
  session.line("{} for {}\n", session.bold(arguments.text(OptionId::onnx)),
               device_text(arguments, session.console()));
  const std::string file = arguments.text(OptionId::saveEngine);
  BuildPage page(session, !file.empty());
  if (!log.empty()) TENON_TRY(page.keep_log(log));
  const BuildListener listener = page.listener();
  nvinfer1::ILogger& logger = session.logger();
  BuildListener staged = listener;
  staged.reading = [&] { session.enter(Stage::kModel); };
  staged.parsed = [&](const nvinfer1::INetworkDefinition& network, double seconds) {
    session.enter(Stage::kBuild);
    listener.parsed(network, seconds);
  };
  const auto saved = file.empty() ? nullptr : NewFile::open(file);
  TENON_ASSIGN(BuiltPlan built,
               build_plan(arguments, session.console(), logger, saved.get(), &staged, report));
  const auto size = static_cast<double>(built.size);
  page.saves();
  const auto start = std::chrono::steady_clock::now();
  PlanSource plan;
  if (file.empty()) {
    plan.memory = std::move(built.memory);
  } else {
    TENON_ASSIGN(plan, save_plan(std::move(built), saved.get(), file));
  }
  const std::chrono::duration<double> writing = std::chrono::steady_clock::now() - start;
  page.written(file, size, writing.count());
  session.line("\n  done in {}", seconds_text(page.seconds()));
  TENON_TRY(page.close_log());
  return plan;
}

Result<LoadedEngine> engine_of(Session& session, const Arguments& arguments, Json* report) {
  nvinfer1::ILogger& logger = session.logger();
  LoadedEngine engine;
  if (arguments.has(OptionId::loadEngine)) {
    session.enter(Stage::kRun);
    const std::string file = arguments.text(OptionId::loadEngine);
    session.line("{} on {}", session.bold(file), device_text(arguments, session.console()));
    TENON_TRY(file_size(file));
    TENON_ASSIGN(engine, load_engine(file, arguments, session.console(), logger));
  } else {
    TENON_ASSIGN(const PlanSource plan, build_on_page(session, arguments, "", report));
    session.enter(Stage::kRun);
    TENON_ASSIGN(engine, load_engine(plan, arguments, session.console(), logger));
  }
  TENON_TRY(refit_engine(*engine.engine, arguments, session.console(), logger));
  return engine;
}

}  // namespace tenon::tools
