#include "tools/measure.h"

#include "tools/debug_dump.h"
#include "tools/exports.h"
#include "tools/inference.h"
#include "tools/interrupt.h"
#include "tools/outputs.h"
#include "tools/profiler.h"
#include "tools/report.h"
#include "tools/run_report.h"
#include "tools/tensor_words.h"

namespace tenon::tools {
namespace {

using nvinfer1::ExecutionContextAllocationStrategy;
using nvinfer1::ICudaEngine;
using Runners = std::vector<std::unique_ptr<Runner>>;

ExecutionContextAllocationStrategy allocation_strategy(const Arguments& arguments) {
  const std::string word = arguments.text(OptionId::allocationStrategy);
  if (word == "profile") return ExecutionContextAllocationStrategy::kON_PROFILE_CHANGE;
  // "runtime" means memory for the shapes at hand; a context on the CPU makes that itself.
  return ExecutionContextAllocationStrategy::kSTATIC;
}

/// Of the ranges that profilers see: as asked for, else as the plan was built.
nvinfer1::ProfilingVerbosity profiling_verbosity(const Arguments& arguments,
                                                 const ICudaEngine& engine) {
  if (!arguments.has(OptionId::profilingVerbosity)) return engine.getProfilingVerbosity();
  return parse_verbosity(arguments.text(OptionId::profilingVerbosity));
}

Result<BindingRequest> binding_request(const ICudaEngine& engine, const Arguments& arguments,
                                       Console& console) {
  BindingRequest request;
  request.profile = static_cast<int>(arguments.integer(OptionId::useProfile));
  if (request.profile >= engine.getNbOptimizationProfiles()) {
    return user_error("--useProfile={}: the engine has {} profiles", request.profile,
                      engine.getNbOptimizationProfiles());
  }
  if (engine.getNbOptimizationProfiles() > 1 && !arguments.has(OptionId::useProfile)) {
    console.warning(
        "The engine has {} optimization profiles and --useProfile names none: profile 0 is used",
        engine.getNbOptimizationProfiles());
  }
  if (arguments.has(OptionId::shapes)) {
    TENON_ASSIGN(request.shapes, parse_shape_list(arguments.text(OptionId::shapes)));
  }
  TENON_ASSIGN(request.files, parse_map("--loadInputs", arguments.text(OptionId::loadInputs)));
  return request;
}

GpuSettings gpu_settings(const Arguments& arguments) {
  GpuSettings settings;
  settings.device = chosen_device(arguments);
  settings.transfers = !arguments.flag(OptionId::noDataTransfers);
  settings.overlap = !arguments.flag(OptionId::exposeDMA);
  settings.graph = arguments.flag(OptionId::useCudaGraph);
  settings.replays = !arguments.flag(OptionId::noCudaGraph);
  settings.spin_wait = arguments.flag(OptionId::useSpinWait);
  return settings;
}

}  // namespace

/// Only the first stream's bindings are spoken of.
Result<Runners> make_runners(ICudaEngine& engine, const Arguments& arguments, Console& console) {
  TENON_ASSIGN(const BindingRequest request, binding_request(engine, arguments, console));
  console.info("Context memory: {:g} MiB for each of {} streams, allocation strategy {}",
               static_cast<double>(engine.getDeviceMemorySizeV2()) / (1 << 20),
               arguments.integer(OptionId::infStreams),
               arguments.text(OptionId::allocationStrategy));
  NullLogger silent;
  Runners runners;
  for (int64_t i = 0; i < arguments.integer(OptionId::infStreams); ++i) {
    Logger& log = i == 0 ? static_cast<Logger&>(console) : silent;
    const auto strategy = allocation_strategy(arguments);
    TENON_ASSIGN(std::unique_ptr<Runner> runner,
                 runsOnGpu(engine)
                     ? make_gpu_runner(engine, request, strategy, gpu_settings(arguments), log)
                     : make_cpu_runner(engine, request, strategy, log));
    runner->context().setNvtxVerbosity(profiling_verbosity(arguments, engine));
    runners.push_back(std::move(runner));
  }
  return runners;
}

namespace {

/// On the CPU a query is computed by who asks for it.
InferenceSettings inference_settings(const Arguments& arguments, bool on_cpu) {
  InferenceSettings settings;
  settings.iterations = arguments.integer(OptionId::iterations);
  settings.warm_up_ms = static_cast<double>(arguments.integer(OptionId::warmUp));
  settings.duration_ms = arguments.real(OptionId::duration) * 1000;
  settings.idle_ms = arguments.real(OptionId::idleTime);
  settings.thread_each = on_cpu || arguments.flag(OptionId::threads);
  return settings;
}

Result<ReportSettings> report_settings(const Arguments& arguments, bool on_cpu) {
  ReportSettings settings;
  settings.average_runs = static_cast<int>(arguments.integer(OptionId::avgRuns));
  settings.on_cpu = on_cpu;
  settings.streams = static_cast<int>(arguments.integer(OptionId::infStreams));
  settings.spins = arguments.flag(OptionId::useSpinWait);
  TENON_ASSIGN(settings.percentiles, parse_percentiles(arguments.text(OptionId::percentile)));
  return settings;
}

Result<InferenceTimes> timed_run(Runners& runners, const Arguments& arguments, bool on_cpu,
                                 Console& console) {
  console.info("Starting inference");
  runners.front()->profile(true);
  auto run = run_inference(runners, inference_settings(arguments, on_cpu), console);
  runners.front()->profile(false);
  TENON_ASSIGN(InferenceTimes times, std::move(run));
  if (!times.cut_short || times.queries.count() > 0)
    console.info("Warmup completed {} queries over {} ms", times.warm_up_queries,
                 arguments.integer(OptionId::warmUp));
  console.info("Timing trace has {} queries over {:g} s", times.queries.count(),
               times.queries.wall_ms() / 1000);
  return times;
}

/// With --duration=-1 there is no other end.
Status stopped() {
  return user_error("stopped before --iterations and --duration were reached");
}

/// `unprofiled`: queries that nothing was measured inside of; none where there is no separate run.
Status report_profile(const LayerProfiler& profiler, std::span<const LayerTimes> layers,
                      const QueryLog* unprofiled, const Arguments& arguments, Console& console) {
  if (arguments.flag(OptionId::dumpProfile)) print_profile(console, layers, profiler.iterations());
  double sum = 0;
  for (const LayerTimes& layer : layers) sum += layer.median_ms;
  const double whole =
      unprofiled == nullptr ? 0 : unprofiled->summary(&QueryTimes::compute, {}).median;
  if (whole > 0)
    console.info(
        "The layers' medians add up to {:g} ms, {:.2f} times the {:g} ms (median) of a query that "
        "is "
        "not profiled",
        sum, sum / whole, whole);
  if (!arguments.has(OptionId::exportProfile)) return {};
  return write_file(arguments.text(OptionId::exportProfile),
                    profile_json(layers, profiler.iterations()));
}

}  // namespace

Status measure_engine(ICudaEngine& engine, const Arguments& arguments, Console& console,
                      Measured* measured, ReportParts* report) {
  TENON_ASSIGN(const ReportSettings settings, report_settings(arguments, !runsOnGpu(engine)));
  TENON_ASSIGN(Runners runners, make_runners(engine, arguments, console));
  TENON_TRY(write_layer_information(engine, &runners.front()->context(), arguments, console));
  const bool profiled = report != nullptr || arguments.flag(OptionId::dumpProfile) ||
                        arguments.has(OptionId::exportProfile) ||
                        (measured != nullptr && measured->wants_layers);
  // A report has both: the engine's times as they are, and its layers'.
  const bool separate = report != nullptr || arguments.flag(OptionId::separateProfileRun);
  LayerProfiler profiler;
  // A profiled run is slower than others, so its times are not reported as the engine's.
  if (profiled && !separate) {
    runners.front()->context().setProfiler(&profiler);
    console.warning(
        "--dumpProfile and --exportProfile without --separateProfileRun: the performance summary "
        "is left out, "
        "since taking layer times costs time");
  }
  TENON_ASSIGN(const InferenceTimes times, timed_run(runners, arguments, settings.on_cpu, console));
  if (times.cut_short && times.queries.count() == 0) {
    console.info("");
    console.info("=== Performance summary ===");
    console.info("No query ended before the run was stopped");
    return stopped();
  }
  if (measured != nullptr) {
    measured->queries = times.queries;
    measured->settings = settings;
  }
  if (!profiled || separate) {
    print_trace(console, times.queries, settings.average_runs);
    print_summary(console, times.queries, times.queries.wall_ms(), settings);
  }
  if (arguments.has(OptionId::exportTimes)) {
    if (times.queries.stride() > 1)
      console.warning("--exportTimes: the file has one query of {}: {} ran", times.queries.stride(),
                      times.queries.count());
    TENON_TRY(write_file(arguments.text(OptionId::exportTimes), times_json(times.queries.kept())));
  }
  TENON_TRY(write_outputs(*runners.front(), arguments, console));
  TENON_TRY(dump_debug_tensors(runners.front()->context(), arguments, console));
  if (times.cut_short) return stopped();
  if (!profiled) return {};
  if (separate && !interrupted()) {
    runners.front()->context().setProfiler(&profiler);
    TENON_TRY(timed_run(runners, arguments, settings.on_cpu, console));
  }
  if (const int32_t streams = engine.getNbAuxStreams(); streams > 0)
    console.warning(
        "* The engine uses {} auxiliary streams, and layers are profiled one after the other: the "
        "profile's Total is not the time of a query.",
        streams);
  const std::vector<LayerTimes> layers = profiler.layers();
  if (measured != nullptr) {
    measured->layers = layers;
    measured->profiled_runs = profiler.iterations();
  }
  if (report != nullptr)
    add_measurements(*report, runners.front()->context(), times.queries, layers, settings.on_cpu);
  return report_profile(profiler, layers, separate ? &times.queries : nullptr, arguments, console);
}

}  // namespace tenon::tools
