#include <chrono>

#include "NvInfer.h"
#include "base/guard.h"
#include "tenon/device.h"
#include "tenon/passes.h"
#include "tools/api_logger.h"
#include "tools/arguments.h"
#include "tools/build.h"
#include "tools/commands.h"
#include "tools/device_info.h"
#include "tools/engine_file.h"
#include "tools/interrupt.h"
#include "tools/measure.h"
#include "tools/option_report.h"
#include "tools/outputs.h"
#include "tools/preparation.h"
#include "tools/refit.h"
#include "tools/run_report.h"

namespace tenon::tools {
namespace {

using nvinfer1::IHostMemory;

/// The weights stay in the file until they are used.
Result<PlanSource> find_plan(const std::string& file, Console& console) {
  const auto start = std::chrono::steady_clock::now();
  TENON_ASSIGN(const uint64_t size, file_size(file));
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  console.info("Engine loaded in {:g} sec.", seconds.count());
  console.info("Loaded engine with size: {:g} MiB", static_cast<double>(size) / (1 << 20));
  return PlanSource{nullptr, file};
}

Result<PlanSource> make_plan(const Arguments& arguments, Console& console, ApiLogger& logger,
                             Json* report) {
  if (arguments.has(OptionId::loadEngine))
    return find_plan(arguments.text(OptionId::loadEngine), console);
  if (!arguments.has(OptionId::onnx)) {
    return user_error("there is nothing to run: give --onnx=file, or --loadEngine=file");
  }
  const std::string file = arguments.text(OptionId::saveEngine);
  const auto saved = file.empty() ? nullptr : NewFile::open(file);
  TENON_ASSIGN(BuiltPlan built,
               build_plan(arguments, console, logger, saved.get(), nullptr, report));
  if (file.empty()) return PlanSource{std::move(built.memory), {}};
  TENON_ASSIGN(PlanSource plan, save_plan(std::move(built), saved.get(), file));
  console.info("Saved engine to {}", file);
  return plan;
}

void print_applied_passes(const nvinfer1::ICudaEngine& engine, Console& console) {
  console.info("Applied passes:");
  for (int32_t i = 0; i < getNbAppliedPasses(engine); ++i)
    console.info("{}", getAppliedPass(engine, i));
}

Status time_loads(const PlanSource& plan, Console& console, ApiLogger& logger) {
  TENON_ASSIGN(const MappedBytes bytes, plan.bytes());
  return time_deserialize(bytes.chars(), console, logger);
}

Status use_plan(PlanSource plan, const Arguments& arguments, Console& console, ApiLogger& logger,
                ReportParts* report) {
  if (arguments.flag(OptionId::timeDeserialize)) return time_loads(plan, console, logger);
  const bool skip = arguments.flag(OptionId::skipInference) ||
                    arguments.text(OptionId::runtimePlatform) != "SameAsBuild";
  TENON_ASSIGN(const LoadedEngine loaded, load_engine(plan, arguments, console, logger));
  if (arguments.flag(OptionId::dumpOptimizationProfile))
    print_optimization_profiles(*loaded.engine, console);
  if (arguments.text(OptionId::passes) == "applied") print_applied_passes(*loaded.engine, console);
  if (skip) TENON_TRY(write_layer_information(*loaded.engine, nullptr, arguments, console));
  TENON_TRY(refit_engine(*loaded.engine, arguments, console, logger));
  if (!skip) return measure_engine(*loaded.engine, arguments, console, nullptr, report);
  console.info("Skipped inference phase since --skipInference is added.");
  return {};
}

Status print_plan_version(const Arguments& arguments, Console& console) {
  TENON_ASSIGN(const std::string version, plan_version(arguments.text(OptionId::loadEngine)));
  console.info("This plan file was built by version: {}", version);
  return {};
}

Status show_gpu(const IGpu& gpu, const Arguments& arguments, Console& console) {
  const GpuDescription description = gpu.describe();
  print_gpu_information(console, description);
  if (!arguments.has(OptionId::exportDevice)) return {};
  return write_file(arguments.text(OptionId::exportDevice), std::string(description.text));
}

/// Everything between the banners.
Status execute(const Arguments& arguments, std::span<const char* const> words, Console& console) {
  TENON_TRY(check_values(arguments));
  TENON_TRY(check_outputs(arguments));
  if (arguments.flag(OptionId::verbose)) console.set_threshold(Severity::kVerbose);
  for (const auto* remarks : {&arguments.renamed(), &arguments.repeated()})
    for (const std::string& remark : *remarks) console.warning("{}", remark);
  if (arguments.flag(OptionId::getPlanVersionOnly)) return print_plan_version(arguments, console);
  print_options(console, arguments);
  const std::unique_ptr<IGpu> gpu = find_gpu(arguments, console);
  TENON_TRY(check_support(console, arguments, /*on_cpu=*/gpu == nullptr));
  if (gpu != nullptr)
    TENON_TRY(show_gpu(*gpu, arguments, console));
  else
    print_cpu_information(console, read_cpu_info());
  console.info("TensorRT version: {}.{}.{}", getInferLibMajorVersion(), getInferLibMinorVersion(),
               getInferLibPatchVersion());
  TENON_TRY(open_plugins(arguments, console));
  ApiLogger logger(console);
  const bool reports = wants_report(arguments);
  ReportParts report = new_report(arguments, words);
  if (gpu != nullptr) add_memory_rate(report, gpu->describe());
  TENON_ASSIGN(PlanSource plan,
               make_plan(arguments, console, logger, reports ? &report.build : nullptr));
  // Without inference all that was asked for is done, and a saved plan is no failure.
  if (interrupted() && !arguments.flag(OptionId::skipInference))
    return user_error("stopped before inference");
  if (!arguments.has(OptionId::deviceDescription))
    TENON_TRY(use_plan(std::move(plan), arguments, console, logger, reports ? &report : nullptr));
  return reports ? write_report(std::move(report), arguments, console) : Status();
}

/// The outcome of a command line, its errors printed.
bool succeeds(std::string_view program, const Result<Arguments>& arguments,
              std::span<const char* const> words, Console& console) {
  if (!arguments.ok()) {
    console.error("{}", arguments.error().message);
    return false;
  }
  if (!arguments->unknown().empty()) {
    for (const std::string& unknown : arguments->unknown())
      console.error("Unknown option: {}{}", unknown, advice_on_unknown(unknown));
    console.error("{} --help lists all options", program);
    return false;
  }
  const Status status =
      guarded("running the command", [&] { return execute(*arguments, words, console); });
  if (!status.ok()) console.error("{}", status.error().message);
  return status.ok();
}

std::string banner(std::string_view state, std::string_view program,
                   std::span<const char* const> words) {
  return fmt::format("&&&& {} TensorRT.trtexec [TensorRT v{}] [b{}] # {} {}", state,
                     getInferLibVersion(), getInferLibBuildVersion(), program,
                     fmt::join(words, " "));
}

}  // namespace

int run_exec(std::string_view program, std::span<const char* const> words) {
  Console console;
  const Result<Arguments> arguments = parse_arguments(words);
  if (words.empty() || (arguments.ok() && arguments->flag(OptionId::help))) {
    console.plain(help_text());
    return 0;
  }
  if (arguments.ok() && arguments->flag(OptionId::helpMarkdown)) {
    console.plain(help_markdown());
    return 0;
  }
  if (arguments.ok() && arguments->text(OptionId::passes) == "list") {
    console.plain(passList());
    return 0;
  }
  watch_interrupts();
  console.plain(banner("RUNNING", program, words));
  bool passed = succeeds(program, arguments, words, console);
  if (passed && std::ferror(stdout) != 0) {
    console.error("standard output takes no more: the output is incomplete");
    passed = false;
  }
  console.plain(banner(passed ? "PASSED" : "FAILED", program, words));
  return passed ? 0 : 1;
}

}  // namespace tenon::tools
