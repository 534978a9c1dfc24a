#include "api/builder.h"

#include <algorithm>
#include <filesystem>

#include "api/algorithm_questions.h"
#include "api/application.h"
#include "api/builder_config.h"
#include "api/candidate_record.h"
#include "api/config_check.h"
#include "api/configure_plugins.h"
#include "api/creators.h"
#include "api/family_build.h"
#include "api/host_memory.h"
#include "api/implicit_quantization.h"
#include "api/integer_plugins.h"
#include "api/lower_plugins.h"
#include "api/memory_source.h"
#include "api/optimization_profile.h"
#include "api/plan_settings.h"
#include "api/precision_check.h"
#include "api/precision_summary.h"
#include "api/progress.h"
#include "api/recipe.h"
#include "api/reproducer.h"
#include "api/runtime.h"
#include "api/tactic_libraries.h"
#include "base/environment.h"
#include "base/guard.h"
#include "base/mapped_file.h"
#include "base/process_memory.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "check/choose_branches.h"
#include "check/choose_turns.h"
#include "check/compile_checked.h"
#include "device/cpu/isa.h"
#include "device/described_device.h"
#include "device/kernel_threads.h"
#include "kernels/algorithm.h"
#include "kernels/sparse_weights.h"
#include "network/io_formats.h"
#include "network/network.h"
#include "ops/structure.h"
#include "plan/plan_file.h"
#include "plugin/instance.h"
#include "select/collect_code.h"
#include "tenon/device.h"

namespace tenon::api {
namespace {

using network::Network;

/// The configuration's settings for the passes.
PassOptions pass_options(const BuilderConfig& config, Device& device, bool strongly_typed,
                         Logger& logger) {
  PassOptions options = pass_options_for(device);
  options.level = config.getBuilderOptimizationLevel();
  options.disabled = config.pass_switches().disabled;
  options.no_fuse = config.pass_switches().no_fuse;
  const bool fp16 = config.getFlag(BuilderFlag::kFP16), bf16 = config.getFlag(BuilderFlag::kBF16);
  if (strongly_typed || (!fp16 && !bf16)) return options;
  const DeviceProperties& properties = device.properties();
  if (!device.capabilities().host_cores) {
    options.precision = fp16 ? tenon::DataType::kFloat16 : tenon::DataType::kBFloat16;
  } else if (properties.native_bf16) {
    if (fp16) logger.info("FP16 on this CPU means BF16: it has no arithmetic in FP16");
    options.precision = tenon::DataType::kBFloat16;
  } else {
    logger.warning("This CPU has no 16-bit arithmetic: the network runs in FP32");
  }
  return options;
}

bool names_some_node(const Graph& graph, std::string_view pattern) {
  return std::ranges::any_of(graph.nodes(), [&](const auto& node) {
    return matches_pattern(pattern, node->name) ||
           std::ranges::any_of(node->origins,
                               [&](const auto& o) { return matches_pattern(pattern, o); }) ||
           std::ranges::any_of(node->bodies,
                               [&](const auto& body) { return names_some_node(*body, pattern); });
  });
}

/// Patterns that no node of the network matches are told of.
void report_unmatched(const PassOptions& passes, const Graph& graph, Logger& logger) {
  for (const std::string& pattern : passes.no_fuse)
    if (!names_some_node(graph, pattern))
      logger.warning("No node of the network is called '{}', which is to stay unfused", pattern);
  for (const std::string& entry : passes.disabled) {
    const size_t colon = entry.find(':');
    if (colon != std::string::npos && !names_some_node(graph, entry.substr(colon + 1)))
      logger.warning("No node of the network is called '{}', where {} is to be left out",
                     entry.substr(colon + 1), entry.substr(0, colon));
  }
}

/// The device that the configuration describes or names; where it names none, a GPU if there is
/// one.
Result<Backend> named_backend(const BuilderConfig& config, int32_t max_threads, Logger& logger) {
  if (!config.device_description().empty()) {
    TENON_ASSIGN(const DeviceProperties described, parse_description(config.device_description()));
    return described_cuda_backend(described);
  }
  const int32_t device = config.device();
  if (device == kCpuDevice) return checked_cpu_backend(max_threads);
  auto gpu = cuda_backend(std::max(device, -1));
  if (gpu.ok() || device != kDefaultDevice) return gpu;
  // A GPU that is there and cannot be used is no reason to be quiet.
  const bool absent = gpu.error().kind == ErrorKind::kUnsupported;
  logger.write(absent ? tenon::Severity::kVerbose : tenon::Severity::kWarning,
               fmt::format("The plan is for the CPU: {}", gpu.error().message));
  return checked_cpu_backend(max_threads);
}

/// The same as the hardware compatibility level wants it.
Result<Backend> chosen_backend(const BuilderConfig& config, int32_t max_threads,
                               FamilyBuild& family, Logger& logger) {
  TENON_ASSIGN(Backend backend, named_backend(config, max_threads, logger));
  TENON_TRY(family.prepare(config, backend, logger));
  return backend;
}

/// Origins of kernels that the configuration's sources leave out.
std::string barred_origins(const BuilderConfig& config) {
  std::string names;
  for (const TacticLibrary& library : kTacticLibraries)
    if (!config.takes_from(library.source))
      names += (names.empty() ? "" : ",") + std::string(name_of(library.origin));
  return names;
}

/// Whether the plan keeps the network for refitting.
bool is_refittable(const BuilderConfig& config) {
  return config.getFlag(BuilderFlag::kREFIT) || config.getFlag(BuilderFlag::kREFIT_IDENTICAL) ||
         config.getFlag(BuilderFlag::kREFIT_INDIVIDUAL) || config.getFlag(BuilderFlag::kSTRIP_PLAN);
}

/// How a plan that can be refitted is made again; nothing for others.
std::map<std::string, std::string> recipe_settings_of(const BuilderConfig& config,
                                                      const Network& network,
                                                      const CompileRequest& request) {
  if (!is_refittable(config)) return {};
  std::map<std::string, std::string> settings = recipe_of(request.passes);
  if (quantizes_implicitly(config, network, *request.graph)) settings[kRangesSetting] = "1";
  return settings;
}

/// The most that the process has had; memory of a GPU is the device's whole.
void report_memory(Logger& logger) {
  logger.info("[MemUsageStats] Peak memory usage of the process: CPU {} MiB",
              peak_resident_bytes() >> 20);
}

void limit_shared_memory(const BuilderConfig& config, Backend& backend, Logger& logger) {
  const size_t limit = config.getMemoryPoolLimit(MemoryPoolType::kTACTIC_SHARED_MEMORY);
  if (limit == default_pool_limit(MemoryPoolType::kTACTIC_SHARED_MEMORY)) return;
  const DeviceProperties& device = backend.device->properties();
  if (backend.device->capabilities().host_cores)
    logger.warning(
        "The limit of the memory pool kTACTIC_SHARED_MEMORY has no effect: only GPUs have shared "
        "memory");
  else if (device.shared_memory_per_block == 0 || limit < device.shared_memory_per_block)
    backend.shared_memory = static_cast<int64_t>(std::min<size_t>(limit, INT64_MAX));
}

/// Kernels of sparse weights are for builds that allow them.
void leave_out_sparse(Backend& backend) {
  std::vector<Tactic> rows(backend.tactics.begin(), backend.tactics.end());
  if (std::erase_if(rows, [](const Tactic& tactic) { return is_sparse(tactic.name); }) == 0) return;
  backend.rows = std::make_shared<const std::vector<Tactic>>(std::move(rows));
  backend.tactics = *backend.rows;
}

/// Prohibitions of the configuration for kernels; tells of libraries that the others lack.
Status obey_limits(const BuilderConfig& config, Backend& backend, Logger& logger) {
  limit_shared_memory(config, backend, logger);
  if (config.exact_numerics()) backend.numerics = backend.numerics.exact();
  if (!config.getFlag(BuilderFlag::kSPARSE_WEIGHTS)) leave_out_sparse(backend);
  const std::string barred = barred_origins(config);
  if (!barred.empty()) TENON_TRY(bar_origins(backend, barred));
  for (const BackendNote& note : backend.notes) logger.warning("{}", note.text);
  return {};
}

void count_algorithms(const Graph& graph, std::map<Algorithm, int>& counts) {
  for (const auto& node : graph.nodes()) {
    ++counts[algorithm_of(split_tactic(node->tactic).name)];
    if (!node->is<Fused>())
      for (const auto& body : node->bodies) count_algorithms(*body, counts);
  }
}

/// Says which layers of the plan are not exact.
void tell_numerics(const Plan& plan, Logger& logger) {
  std::map<Algorithm, int> counts;
  count_algorithms(*plan.graph, counts);
  counts.erase(Algorithm::kPlain);
  for (const auto& [algorithm, count] : counts)
    logger.info(
        "Numerics: {} {} by {}'s transform, which rounds by more than sums of products do; "
        "--numerics=exact, or tenon::setNumerics, does without",
        count, count == 1 ? "layer multiplies" : "layers multiply", name_of(algorithm));
}

/// How kernels are searched for.
void set_search(const BuilderConfig& config, SelectOptions& options) {
  options.average_runs = config.getAvgTimingIterations();
  options.max_candidates = config.getMaxNbTactics();
  options.use_cache = !config.getFlag(BuilderFlag::kDISABLE_TIMING_CACHE);
  options.editable_cache = config.getFlag(BuilderFlag::kEDITABLE_TIMING_CACHE);
  options.fail_on_cache_miss =
      config.timing_cache() != nullptr && config.getFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  options.workspace_limit = config.getMemoryPoolLimit(MemoryPoolType::kWORKSPACE);
}

/// How far the sizes of turns of a batch are searched.
TurnSearch turn_search(BuilderConfig& config, const Backend& backend, Logger& logger) {
  constexpr int kSizes[] = {0, 1, 2, 4};  // By TilingOptimizationLevel.
  TurnSearch search{.sizes = kSizes[static_cast<int>(config.getTilingOptimizationLevel())]};
  if (config.getL2LimitForTiling() >= 0) search.most_bytes = config.getL2LimitForTiling();
  const bool is_bounded = search.most_bytes != INT64_MAX;
  if (is_bounded && search.sizes == 0 && !backend.device->capabilities().host_cores)
    logger.warning(
        "setL2LimitForTiling has no effect on a GPU without a tiling optimization level "
        "(setTilingOptimizationLevel, --tilingOptimizationLevel): batches run whole");
  return search;
}

/// What only a plan as a whole can be timed for.
Status choose_order(BuilderConfig& config, const Backend& backend, Plan& plan, TimingCache& cache,
                    Logger& logger) {
  TENON_TRY(choose_turns(plan, backend, turn_search(config, backend, logger), cache, logger));
  if (config.getMaxAuxStreams() <= 0) return {};
  return choose_branches(plan, backend, config.getMaxAuxStreams(), cache, logger);
}

SelfCheck self_check_of(const BuilderConfig& config, const ImplicitQuantization& quantized) {
  const BuilderConfig::SelfCheckSwitch& wanted = config.self_check();
  SelfCheck check{
      .enabled = wanted.enabled, .regions = wanted.regions, .keep_failed = wanted.keep_failed};
  if (wanted.max_cost >= 0) check.max_cost = wanted.max_cost;
  check.unquantized = quantized.unquantized;
  check.seconds_before = quantized.seconds;
  return check;
}

/// Which tensors debug listeners see, and which of them are outputs for their sake alone.
void add_debug_tensors(const Network& network, Plan& plan) {
  std::set<std::string> all, hidden;
  for (const network::TensorHandle* tensor : network.debug_tensors()) {
    all.insert(tensor->getName());
    if (!tensor->isNetworkOutput() && !tensor->isNetworkInput()) hidden.insert(tensor->getName());
  }
  if (network.shows_unfused()) plan.settings[kDebugUnfusedSetting] = "1";
  if (!all.empty()) plan.settings[kDebugSetting] = joined(all);
  if (!hidden.empty()) plan.settings[kDebugHiddenSetting] = joined(hidden);
}

/// Inputs and outputs that are not linear, in the graph and in the profiles.
Result<network::IoFormats> bind_formats(const BuilderConfig& config, const Network& network,
                                        CompileRequest& request) {
  TENON_ASSIGN(network::IoFormats formats, network::io_formats(network, *request.graph));
  if (!formats.empty() && config.getFlag(BuilderFlag::kDIRECT_IO))
    return unsupported("kDIRECT_IO: '{}' is {}, which kernels read and write by a reformat only",
                       formats.begin()->first, network::name_of(formats.begin()->second.format));
  TENON_TRY(network::bind_formats(*request.graph, formats));
  for (Profile& profile : request.profiles)
    for (auto& [name, range] : profile) {
      const auto found = formats.find(name);
      if (found == formats.end()) continue;
      for (Extents* extents : {&range.min, &range.opt, &range.max}) {
        TENON_TRY(found->second.check(name, *extents));
        *extents = found->second.to_buffer(*extents);
      }
    }
  return formats;
}

/// Puts the plugin libraries that the configuration names into the plan.
Status carry_libraries(const BuilderConfig& config, Plan& plan) {
  if (config.getNbPluginsToSerialize() == 0) return {};
  plan.libraries = std::make_shared<CodeLibrary>();
  for (int32_t i = 0; i < config.getNbPluginsToSerialize(); ++i) {
    const std::filesystem::path path = config.getPluginToSerialize(i);
    TENON_ASSIGN(const MappedBytes file, map_file(path.string()));
    const std::string_view bytes(reinterpret_cast<const char*>(file.data), file.size);
    if (!bytes.starts_with("\177ELF"))
      return user_error("setPluginsToSerialize: '{}' is no shared library", path.string());
    plan.libraries->collect(fmt::format("{:06}/{}", i, path.filename().string()), bytes);
  }
  return {};
}

/// What engines are asked for.
Status note_settings(BuilderConfig& config, const network::IoFormats& formats, Plan& plan) {
  plan.stripped = config.getFlag(BuilderFlag::kSTRIP_PLAN);
  for (const auto& [name, format] : formats)
    plan.settings[kFormatSetting + name] = network::to_text(format);
  plan.settings[kTacticSourcesSetting] = std::to_string(config.getTacticSources());
  if (config.getFlag(BuilderFlag::kWEIGHT_STREAMING)) plan.settings[kWeightStreamingSetting] = "1";
  if (config.getHardwareCompatibilityLevel() ==
      HardwareCompatibilityLevel::kSAME_COMPUTE_CAPABILITY)
    plan.settings[kSameCapabilitySetting] = "1";
  plan.settings[kProfilingVerbositySetting] =
      std::to_string(static_cast<int>(config.getProfilingVerbosity()));
  return carry_libraries(config, plan);
}

/// Where the configuration keeps a report.
void begin_report(BuilderConfig& settings, CompileRequest& request) {
  if (settings.report() == nullptr) return;
  settings.report()->begin(*request.graph);
  request.select.notes = settings.report()->record();
}

void end_reports(BuilderConfig& settings, const Plan& plan, const Backend& backend,
                 FamilyBuild& family, Logger& logger) {
  family.report(backend, logger);
  if (settings.report() != nullptr) settings.report()->finish(plan);
  if (settings.getFlag(BuilderFlag::kMONITOR_MEMORY)) report_memory(logger);
}

/// Weights hold two such numbers in a byte; memory that is bound for them does not.
void remark_nibbles(const Graph& graph, Logger& logger) {
  for (const auto* values : {&graph.inputs(), &graph.outputs()})
    for (const Value* value : *values)
      if (value->type.type == tenon::DataType::kInt4 ||
          value->type.type == tenon::DataType::kFloat4E2M1)
        logger.warning(
            "'{}' is of {}: the memory that is bound for it needs a byte for each number, as "
            "getMaxOutputSize says",
            value->name, name_of(value->type.type));
}

/// The network's graph, whose plugins have types that they take.
Result<std::unique_ptr<Graph>> ready_graph(Network& network, const BuilderConfig& config,
                                           Logger& logger) {
  TENON_ASSIGN(auto graph, network.finished_graph());
  TENON_TRY(find_creators(*graph));
  TENON_TRY(settle_integer_plugins(*graph, config, network, logger));
  remark_nibbles(*graph, logger);
  return graph;
}

/// Who looks at the build's graphs, and at the plan's tensors and weights.
void take_observers(const BuilderConfig& config, const Network& network, CompileRequest& request) {
  request.packs = !config.getFlag(BuilderFlag::kVERSION_COMPATIBLE);
  request.takes_forms = !is_refittable(config);
  request.levels = config.pass_switches().levels;
  request.shows_tensors = network.shows_unfused();
}

/// The profiles, of which plugins are told.
Status take_profiles(const BuilderConfig& config, CompileRequest& request) {
  for (const IOptimizationProfile* profile : config.profiles())
    request.profiles.push_back(dynamic_cast<const OptimizationProfile*>(profile)->profile());
  return configure_plugins(*request.graph, request.profiles);
}

}  // namespace

Result<std::unique_ptr<Graph>> optimized_graph(Network& network, BuilderConfig& config,
                                               network::Reporter& reporter) {
  TENON_TRY(check_config(config, network, reporter));
  CompileRequest request;
  TENON_ASSIGN(request.graph, network.finished_graph());
  TENON_TRY(settle_integer_plugins(*request.graph, config, network, reporter));
  TENON_TRY(take_profiles(config, request));
  FamilyBuild family;
  TENON_ASSIGN(request.backend, chosen_backend(config, 0, family, reporter));
  const bool strongly_typed = network.getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  request.passes = pass_options(config, *request.backend.device, strongly_typed, reporter);
  const bool on_gpu = !request.backend.device->capabilities().host_cores;
  TENON_TRY(apply_precisions(config, network, on_gpu, request.passes));
  TENON_TRY(keep_within_budget(config, request, reporter));
  TENON_TRY(lower_plugins(*request.graph, request.passes));
  report_unmatched(request.passes, *request.graph, reporter);
  if (!request.profiles.empty()) TENON_TRY(apply_profiles(*request.graph, request.profiles));
  TENON_ASSIGN(const auto applied, run_passes(*request.graph, request.passes, reporter));
  for (const std::string& line : applied) reporter.verbose("{}", line);
  return std::move(request.graph);
}

Result<LargeBytes> Builder::build(INetworkDefinition& network, IBuilderConfig& config) {
  auto* definition = dynamic_cast<Network*>(&network);
  auto* settings = dynamic_cast<BuilderConfig*>(&config);
  if (definition == nullptr || settings == nullptr)
    return user_error("the network and the configuration must come from this library's builder");
  TENON_TRY(check_config(*settings, *definition, *reporter_));
  CompileRequest request;
  Progress progress(settings->getProgressMonitor(), settings->progress().observer,
                    settings->progress().budget);
  const StopScope stops(progress.for_evaluations());
  TENON_ASSIGN(request.graph, ready_graph(*definition, *settings, *reporter_));
  TENON_TRY(progress.network_done());
  TENON_TRY(take_profiles(*settings, request));
  take_observers(*settings, *definition, request);
  const bool refittable = is_refittable(*settings);
  TENON_ASSIGN(const network::IoFormats formats, bind_formats(*settings, *definition, request));
  Stopwatch watch;
  FamilyBuild family;
  TENON_ASSIGN(request.backend, chosen_backend(*settings, max_threads_, family, *reporter_));
  request.backend.application = std::make_shared<ReportingApplication>(reporter_);
  request.backend.memory = memory_of(allocator_);
  ConstantStore constants(*request.backend.device, request.backend.memory);
  request.backend.constants = &constants;
  TENON_TRY(obey_limits(*settings, request.backend, *reporter_));
  TENON_TRY(request.backend.device->activate());
  reporter_->verbose("Build times: device opened in {:.2f} s", watch.lap());
  const bool strongly_typed = definition->getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  request.passes = pass_options(*settings, *request.backend.device, strongly_typed, *reporter_);
  const bool on_gpu = !request.backend.device->capabilities().host_cores;
  TENON_TRY(apply_precisions(*settings, *definition, on_gpu, request.passes));
  TENON_TRY(keep_within_budget(*settings, request, *reporter_));
  TENON_TRY(lower_plugins(*request.graph, request.passes));
  const Reproducer kept(*request.graph, *settings, strongly_typed, request.profiles);
  report_unmatched(request.passes, *request.graph, *reporter_);
  request.select.threads = kernel_threads(*request.backend.device);
  request.select.level = request.passes.level;
  set_search(*settings, request.select);
  request.backend.numerics.tf32 = settings->getFlag(BuilderFlag::kTF32) && allows_tf32();
  request.select.progress = progress.for_kernels();
  request.select.watch = progress.watch();
  CandidateRecord record;
  if (settings->records_candidates()) request.select.record = record.recorder();
  AlgorithmQuestions questions(*settings, *reporter_);
  request.select.chooser = questions.chooser();
  const auto recipe_settings = recipe_settings_of(*settings, *definition, request);
  TimingCache own;
  TimingCache& cache =
      settings->timing_cache() != nullptr ? settings->timing_cache()->cache() : own;
  TENON_ASSIGN(const auto quantized,
               quantize_by_ranges(*settings, *definition, request, refittable, cache, *reporter_));
  TENON_TRY(configure_plugins(*request.graph, request.profiles));  // Their types may be others now.
  TENON_TRY(go_on("the build"));
  const PrecisionSummary precisions(*settings, *request.graph, quantized);
  std::unique_ptr<Graph> recipe = refittable ? request.graph->clone() : nullptr;
  const SelfCheck check = self_check_of(*settings, quantized);
  const Backend backend = request.backend;
  begin_report(*settings, request);
  request.select.left_out = family.listener();
  TENON_ASSIGN(Plan plan, kept.of(compile_checked(std::move(request), cache, check, *reporter_)));
  TENON_TRY(go_on("the build"));
  TENON_TRY(progress.kernels_done());
  questions.report();
  precisions.report(*plan.graph, *reporter_);
  TENON_TRY(choose_order(*settings, backend, plan, cache, *reporter_));
  if (settings->records_candidates()) plan.settings[kCandidatesSetting] = record.text();
  plan.settings.insert(recipe_settings.begin(), recipe_settings.end());
  if (refittable && settings->getFlag(BuilderFlag::kREFIT_INDIVIDUAL))
    plan.settings[kRefittableSetting] = joined(definition->refittable_weights());
  plan.network = std::move(recipe);
  tell_numerics(plan, *reporter_);
  add_debug_tensors(*definition, plan);
  plan.settings[kNameSetting] = definition->getName();
  TENON_TRY(note_settings(*settings, formats, plan));
  watch.lap();
  progress.watch()->begin(BuildWatch::Step::kWrite);
  TENON_TRY(collect_code(plan, backend, *reporter_));
  auto bytes = write_and_free(plan);
  progress.all_done();
  reporter_->verbose("Build times: plan written in {:.2f} s", watch.lap());
  end_reports(*settings, plan, backend, family, *reporter_);
  return bytes;
}

IHostMemory* Builder::buildSerializedNetwork(INetworkDefinition& network,
                                             IBuilderConfig& config) noexcept {
  return reporter_->guarded("buildSerializedNetwork", nullptr, [&]() -> IHostMemory* {
    auto plan = build(network, config);
    if (plan.ok()) return new HostMemory(std::move(plan).value());
    reporter_->report(plan.error());
    return nullptr;
  });
}

IHostMemory* Builder::buildSerializedNetworkWithKernelText(INetworkDefinition& network,
                                                           IBuilderConfig& config,
                                                           IHostMemory*& kernelText) noexcept {
  kernelText = nullptr;
  return buildSerializedNetwork(network, config);
}

bool Builder::buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                             IStreamWriter& writer) noexcept {
  const std::unique_ptr<IHostMemory> plan(buildSerializedNetwork(network, config));
  if (plan == nullptr) return false;
  const auto size = static_cast<int64_t>(plan->size());
  const int64_t written = writer.write(plan->data(), size);
  if (written != size)
    reporter_->report(user_error("the stream writer took {} of {} bytes", written, size));
  return written == size;
}

ICudaEngine* Builder::buildEngineWithConfig(INetworkDefinition& network,
                                            IBuilderConfig& config) noexcept {
  const std::unique_ptr<IHostMemory> plan(buildSerializedNetwork(network, config));
  if (plan == nullptr) return nullptr;
  return reporter_->guarded("buildEngineWithConfig", nullptr, [&] {
    Runtime runtime(*reporter_->logger());
    runtime.setGpuAllocator(allocator_);
    runtime.setErrorRecorder(reporter_->recorder());
    if (const auto* settings = dynamic_cast<const BuilderConfig*>(&config))
      runtime.set_device(settings->device());
    return runtime.deserializeCudaEngine(plan->data(), plan->size());
  });
}

/// A build without optimization, of which only the end is of interest.
Status Builder::try_build(Network& network, const BuilderConfig& config) {
  TENON_TRY(check_config(const_cast<BuilderConfig&>(config), network, *reporter_));
  CompileRequest request;
  TENON_ASSIGN(request.graph, ready_graph(network, config, *reporter_));
  for (const IOptimizationProfile* profile : config.profiles())
    request.profiles.push_back(dynamic_cast<const OptimizationProfile*>(profile)->profile());
  TENON_TRY(bind_formats(config, network, request));
  FamilyBuild family;
  TENON_ASSIGN(request.backend, chosen_backend(config, max_threads_, family, *reporter_));
  TENON_TRY(request.backend.device->activate());
  request.passes = pass_options_for(*request.backend.device);
  request.passes.level = 0;
  request.select.level = 0;
  TimingCache nothing;
  NullLogger quiet;
  TENON_ASSIGN(const Plan plan, compile(std::move(request), nothing, quiet));
  return {};
}

bool Builder::isNetworkSupported(const INetworkDefinition& network,
                                 const IBuilderConfig& config) const noexcept {
  // The surface promises to change nothing; types of layers are worked out all the same.
  auto* definition = dynamic_cast<Network*>(const_cast<INetworkDefinition*>(&network));
  const auto* settings = dynamic_cast<const BuilderConfig*>(&config);
  const Status supported =
      definition == nullptr || settings == nullptr
          ? user_error("the network and the configuration must come from this library's builder")
          : guarded("isNetworkSupported",
                    [&] { return const_cast<Builder*>(this)->try_build(*definition, *settings); });
  if (!supported.ok()) reporter_->report(supported.error());
  return supported.ok();
}

IBuilderConfig* Builder::createBuilderConfig() noexcept {
  return reporter_->guarded("createBuilderConfig", nullptr,
                            [&]() -> IBuilderConfig* { return new BuilderConfig(reporter_); });
}
INetworkDefinition* Builder::createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept {
  if (flags >> nvinfer1::EnumMax<nvinfer1::NetworkDefinitionCreationFlag>() != 0) {
    reporter_->report(user_error(
        "createNetworkV2: the flags {:#x} hold bits of no NetworkDefinitionCreationFlag", flags));
    return nullptr;
  }
  return reporter_->guarded("createNetworkV2", nullptr, [&]() -> INetworkDefinition* {
    return new Network(*this, reporter_, flags);
  });
}

/// Profiles belong to the builder that made them, as the surface has it; they are few and small.
IOptimizationProfile* Builder::createOptimizationProfile() noexcept {
  return reporter_->guarded("createOptimizationProfile", nullptr, [&]() -> IOptimizationProfile* {
    profiles_.push_back(std::make_unique<OptimizationProfile>(reporter_));
    return profiles_.back().get();
  });
}

bool Builder::platformHasFastFp16() const noexcept {
  const auto backend = named_backend(BuilderConfig(reporter_), max_threads_, *reporter_);
  if (!backend.ok()) return false;
  // On the CPU, kFP16 means BF16.
  const DeviceProperties& device = backend->device->properties();
  return device.native_fp16 || (backend->device->capabilities().host_cores && device.native_bf16);
}
/// There is no calibration; quantized networks need no question.
bool Builder::platformHasFastInt8() const noexcept {
  constexpr int kFirstWithProducts = 80;
  const auto backend = named_backend(BuilderConfig(reporter_), max_threads_, *reporter_);
  if (!backend.ok()) return false;
  const DeviceProperties& device = backend->device->properties();
  return device.kind == DeviceKind::kCpu ? cpu::has_byte_products()
                                         : device.compute_capability >= kFirstWithProducts;
}
bool Builder::platformHasTf32() const noexcept {
  constexpr int kFirstWithTf32 = 80;
  const auto backend = named_backend(BuilderConfig(reporter_), max_threads_, *reporter_);
  return backend.ok() && backend->device->properties().compute_capability >= kFirstWithTf32;
}
int32_t Builder::getMaxDLABatchSize() const noexcept {
  return 0;
}
int32_t Builder::getNbDLACores() const noexcept {
  return 0;
}
void Builder::setGpuAllocator(IGpuAllocator* allocator) noexcept {
  allocator_ = allocator;
}
void Builder::setErrorRecorder(IErrorRecorder* recorder) noexcept {
  reporter_->set_recorder(recorder);
}
IErrorRecorder* Builder::getErrorRecorder() const noexcept {
  return reporter_->recorder();
}
void Builder::reset() noexcept {
  max_threads_ = 0;
}
ILogger* Builder::getLogger() const noexcept {
  return reporter_->logger();
}
bool Builder::setMaxThreads(int32_t maxThreads) noexcept {
  if (maxThreads < 1) {
    reporter_->report(user_error("setMaxThreads({}): at least 1 thread computes", maxThreads));
    return false;
  }
  max_threads_ = maxThreads;
  return true;
}
int32_t Builder::getMaxThreads() const noexcept {
  return std::max(max_threads_, 1);
}
IPluginRegistry& Builder::getPluginRegistry() noexcept {
  return *::getPluginRegistry();
}

}  // namespace tenon::api
