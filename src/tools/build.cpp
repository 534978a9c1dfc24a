#include "tools/build.h"

#include <chrono>

#include "base/environment.h"
#include "tenon/report.h"
#include "tools/build_progress.h"
#include "tools/calibration.h"
#include "tools/configure.h"
#include "tools/exports.h"
#include "tools/interrupt.h"
#include "tools/profiles.h"
#include "tools/run_report.h"

namespace tenon::tools {
namespace {

using nvinfer1::IBuilder;
using nvinfer1::IBuilderConfig;
using nvinfer1::IHostMemory;
using nvinfer1::INetworkDefinition;
using nvinfer1::ITimingCache;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

std::unique_ptr<INetworkDefinition> create_network(IBuilder& builder, bool strongly_typed) {
  const auto bit =
      1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  return std::unique_ptr<INetworkDefinition>(builder.createNetworkV2(strongly_typed ? bit : 0U));
}

void set_parser_flags(nvonnxparser::IParser& parser, const Arguments& arguments) {
  using nvonnxparser::OnnxParserFlag;
  if (arguments.flag(OptionId::pluginInstanceNorm))
    parser.clearFlag(OnnxParserFlag::kNATIVE_INSTANCENORM);
  if (arguments.flag(OptionId::enablePluginOverride))
    parser.setFlag(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE);
}

Status parse_model(nvonnxparser::IParser& parser, const std::string& file, Console& console) {
  console.info("Start parsing network model.");
  const auto start = std::chrono::steady_clock::now();
  if (!parser.parseFromFile(file.c_str(), static_cast<int>(nvinfer1::ILogger::Severity::kINFO))) {
    return user_error("the model '{}' could not be read; see the {} above", file,
                      parser.getNbErrors() == 1 ? "error" : "errors");
  }
  console.info("Finished parsing network model. Parse time: {:g}", seconds_since(start));
  return {};
}

/// The timing cache of --timingCacheFile, empty where there is no such file yet.
Result<std::unique_ptr<ITimingCache>> load_timing_cache(IBuilderConfig& config,
                                                        const std::string& file, Console& console) {
  std::vector<char> bytes;
  if (Result<std::vector<char>> read = read_file(file); read.ok()) {
    bytes = std::move(*read);
    console.info("Loaded {} bytes of timing cache from {}", bytes.size(), file);
  }
  std::unique_ptr<ITimingCache> cache(config.createTimingCache(bytes.data(), bytes.size()));
  if (!cache)
    return user_error("--timingCacheFile={}: {}", file,
                      console.take_error("this is not a timing cache"));
  if (!config.setTimingCache(*cache, false))
    return user_error("the timing cache '{}' is of another device", file);
  return cache;
}

/// Entries of other processes since it was read stay.
Status save_timing_cache(IBuilderConfig& config, ITimingCache& cache, const std::string& file,
                         Console& console) {
  const FolderLock lock(file);
  if (const auto now = read_file(file); now.ok()) {
    const std::unique_ptr<ITimingCache> theirs(config.createTimingCache(now->data(), now->size()));
    if (theirs) cache.combine(*theirs, false);
  }
  const std::unique_ptr<IHostMemory> bytes(cache.serialize());
  if (!bytes) return internal_error("the timing cache could not be serialized");
  TENON_TRY(write_file(file, std::span(static_cast<const char*>(bytes->data()), bytes->size())));
  console.info("Saved {} bytes of timing cache to {}", bytes->size(), file);
  return {};
}

/// The plan is not lost with the cache.
void keep_timing_cache(IBuilderConfig& config, ITimingCache& cache, const std::string& file,
                       Console& console) {
  const Status saved = save_timing_cache(config, cache, file, console);
  if (!saved.ok()) console.warning("The timing cache is not saved: {}", saved.error().message);
}

Error stopped() {
  return user_error("stopped: the engine is not built");
}

/// Of no bytes where there is none.
BuiltPlan built(const PreparedBuild& made, NewFile* file) {
  if (file != nullptr) {
    const bool is_there =
        made.builder->buildSerializedNetworkToStream(*made.network, *made.config, *file);
    return {nullptr, is_there ? file->size() : 0};
  }
  BuiltPlan plan;
  plan.memory.reset(made.builder->buildSerializedNetwork(*made.network, *made.config));
  if (plan.memory) plan.size = plan.memory->size();
  return plan;
}

std::string expanded(std::string path) {
  if (!path.starts_with("~/")) return path;
  const std::string home = home_folder();
  return home.empty() ? path : home + path.substr(1);
}

}  // namespace

Result<PreparedBuild> prepare_build(const Arguments& arguments, Console& console,
                                    nvinfer1::ILogger& logger, const BuildListener* listener,
                                    OpenExtents open) {
  TENON_ASSIGN(const std::vector<ProfileShapes> profiles, parse_profiles(arguments, console));
  TENON_TRY(check_calibration_shapes(arguments, profiles.size()));
  PreparedBuild made;
  made.builder.reset(nvinfer1::createInferBuilder(logger));
  if (!made.builder) return internal_error("the builder could not be made");
  made.network = create_network(*made.builder, arguments.flag(OptionId::stronglyTyped));
  made.config.reset(made.builder->createBuilderConfig());
  if (!made.network || !made.config) return internal_error("the network could not be made");
  made.parser.reset(nvonnxparser::createParser(*made.network, logger));
  if (!made.parser) return internal_error("the ONNX parser could not be made");
  set_parser_flags(*made.parser, arguments);
  // Ahead of the model, which may take long to read: wrong flags are told at once.
  TENON_TRY(configure_builder(*made.builder, *made.config, arguments, console, logger));
  if (listener != nullptr && listener->reading) listener->reading();
  const auto start = std::chrono::steady_clock::now();
  TENON_TRY(parse_model(*made.parser, expanded(arguments.text(OptionId::onnx)), console));
  if (listener != nullptr) listener->parsed(*made.network, seconds_since(start));
  if (interrupted()) return stopped();

  TENON_TRY(configure_network(*made.network, arguments, console));
  if (arguments.text(OptionId::sparsity) == "force")
    made.weights = force_sparsity(*made.network, console);
  if (!profiles.empty() || open == OpenExtents::kBecomeOne)
    TENON_TRY(add_profiles(*made.builder, *made.network, *made.config, profiles, console));
  TENON_ASSIGN(made.calibrator, give_int8_ranges(*made.network, *made.config, arguments, console));
  return made;
}

Result<BuiltPlan> build_plan(const Arguments& arguments, Console& console,
                             nvinfer1::ILogger& logger, NewFile* file,
                             const BuildListener* listener, Json* report) {
  TENON_ASSIGN(const PreparedBuild made, prepare_build(arguments, console, logger, listener));
  IBuilderConfig* const config = made.config.get();
  const std::string cache_file = arguments.text(OptionId::timingCacheFile);
  std::unique_ptr<ITimingCache> cache;
  if (!cache_file.empty()) {
    TENON_ASSIGN(cache, load_timing_cache(*config, cache_file, console));
  }

  keepBuildReport(*config, report != nullptr);
  BuildProgress progress(console, listener == nullptr);
  config->setProgressMonitor(&progress);
  setBuildObserver(*config, listener != nullptr ? listener->observer : &progress);
  const auto start = std::chrono::steady_clock::now();
  BuiltPlan plan = built(made, file);
  console.clear_progress();
  if (plan.size == 0) {
    if (file != nullptr && !file->status().ok()) {
      console.take_errors();  // The library knows only that a stream took too few bytes.
      return file->status().error();
    }
    if (cache && interrupted()) keep_timing_cache(*config, *cache, cache_file, console);
    return interrupted() ? stopped()
                         : user_error("the engine could not be built from '{}'",
                                      arguments.text(OptionId::onnx));
  }
  if (report != nullptr) *report = library_json(getBuildReport(*config));
  console.info("Engine built in {:g} sec.", seconds_since(start));
  console.info("Created engine with size: {:g} MiB", static_cast<double>(plan.size) / (1 << 20));
  if (cache) keep_timing_cache(*config, *cache, cache_file, console);
  return plan;
}

}  // namespace tenon::tools
