#include "api/build.h"

#include <utility>

#include "api/application.h"
#include "api/build_backend.h"
#include "api/build_request.h"
#include "api/config_check.h"
#include "api/configure_plugins.h"
#include "api/memory_source.h"
#include "api/plan_notes.h"
#include "api/plan_settings.h"
#include "api/plan_sinks.h"
#include "api/precision_check.h"
#include "api/precision_summary.h"
#include "api/recipe.h"
#include "api/reproducer.h"
#include "base/environment.h"
#include "base/page_stock.h"
#include "base/process_memory.h"
#include "check/choose_branches.h"
#include "check/choose_turns.h"
#include "check/compile_checked.h"
#include "device/kernel_threads.h"
#include "select/collect_code.h"

namespace tenon::api {
namespace {

using network::Network;

/// Who looks at the build's graphs, and at the plan's tensors and weights.
void take_observers(const BuilderConfig& config, const Network& network, CompileRequest& request) {
  request.packs = !config.getFlag(BuilderFlag::kVERSION_COMPATIBLE);
  request.takes_forms = !is_refittable(config);
  request.opens_broadcasts = true;
  request.levels = config.pass_switches().levels;
  request.shows_tensors = network.shows_unfused();
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

SelfCheck self_check_of(const BuilderConfig& config, const ImplicitQuantization& quantized) {
  const BuilderConfig::SelfCheckSwitch& wanted = config.self_check();
  SelfCheck check{
      .enabled = wanted.enabled, .regions = wanted.regions, .keep_failed = wanted.keep_failed};
  if (wanted.max_cost >= 0) check.max_cost = wanted.max_cost;
  check.unquantized = quantized.unquantized;
  check.seconds_before = quantized.seconds;
  return check;
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

}  // namespace

Build::Build(Network& network, BuilderConfig& config, std::shared_ptr<network::Reporter> reporter,
             IGpuAllocator* allocator, int32_t max_threads)
    : network_(network),
      config_(config),
      reporter_(std::move(reporter)),
      allocator_(allocator),
      max_threads_(max_threads),
      progress_(config.getProgressMonitor(), config.progress().observer, config.progress().budget),
      stops_(progress_.for_evaluations()),
      questions_(config, *reporter_),
      cache_(config.timing_cache() != nullptr ? config.timing_cache()->cache() : own_cache_) {}

Status Build::run(PlanSink& sink) {
  TENON_TRY(take_network());
  TENON_TRY(open_device());
  TENON_ASSIGN(kept_, set_passes(config_, network_, request_, *reporter_));
  set_selection();
  TENON_ASSIGN(Plan plan, compile());
  TENON_TRY(complete(plan));
  return write(plan, sink);
}

Status Build::take_network() {
  TENON_ASSIGN(request_.graph, ready_graph(network_, config_, *reporter_));
  TENON_TRY(progress_.network_done());
  TENON_TRY(take_profiles(config_, request_));
  take_observers(config_, network_, request_);
  TENON_ASSIGN(formats_, bind_formats(config_, network_, request_));
  return {};
}

Status Build::open_device() {
  watch_.lap();
  TENON_ASSIGN(Backend backend, chosen_backend(config_, max_threads_, family_, *reporter_));
  backend.application = std::make_shared<ReportingApplication>(reporter_);
  backend.memory = memory_of(allocator_);
  constants_ = std::make_unique<ConstantStore>(*backend.device, backend.memory);
  backend.constants = constants_.get();
  TENON_TRY(obey_limits(config_, backend, *reporter_));
  backend.numerics.tf32 = config_.getFlag(BuilderFlag::kTF32) && allows_tf32();
  TENON_TRY(backend.device->activate());
  starts_.begin_all(backend);
  reporter_->verbose("Build times: device opened in {:.2f} s", watch_.lap());
  request_.backend = backend_ = std::move(backend);
  return {};
}

void Build::set_selection() {
  SelectOptions& select = request_.select;
  select.threads = kernel_threads(*backend_.device);
  select.level = request_.passes.level;
  set_search(config_, select);
  select.progress = progress_.for_kernels();
  select.watch = progress_.watch();
  if (config_.records_candidates()) select.record = record_.recorder();
  select.chooser = questions_.chooser();
}

Result<Plan> Build::compile() {
  // Of weights in the forms that kernels try, one behind the other.
  const PagesKept pages;
  const bool strongly_typed = network_.getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  const Reproducer kept(*request_.graph, config_, strongly_typed, request_.profiles);
  recipe_settings_ = recipe_settings_of(config_, network_, request_);
  const bool refittable = is_refittable(config_);
  TENON_ASSIGN(const auto quantized,
               quantize_by_ranges(config_, network_, request_, refittable, cache_, *reporter_));
  for (KeptNode& node : keep_within_quantization_budget(config_, request_, *reporter_))
    kept_.push_back(std::move(node));
  // Their types may be others now.
  TENON_TRY(configure_plugins(*request_.graph, request_.profiles));
  TENON_TRY(go_on("the build"));
  const PrecisionSummary precisions(config_, *request_.graph, request_.passes, quantized, kept_);
  if (refittable) recipe_ = request_.graph->clone();
  begin_report(config_, request_);
  request_.select.left_out = family_.listener();
  const SelfCheck check = self_check_of(config_, quantized);
  TENON_ASSIGN(Plan plan, kept.of(compile_checked(std::move(request_), cache_, check, *reporter_)));
  TENON_TRY(go_on("the build"));
  TENON_TRY(progress_.kernels_done());
  questions_.report();
  if (const std::string lines = precisions.report(*plan.graph, *reporter_); !lines.empty())
    plan.settings[kPrecisionSummarySetting] = lines;
  return plan;
}

/// All that is decided for the plan as a whole.
Status Build::complete(Plan& plan) {
  // Sizes of turns and branches can be timed for a plan alone.
  TENON_TRY(
      choose_turns(plan, backend_, turn_search(config_, backend_, *reporter_), cache_, *reporter_));
  if (config_.getMaxAuxStreams() > 0)
    TENON_TRY(choose_branches(plan, backend_, config_.getMaxAuxStreams(), cache_, *reporter_));
  if (config_.records_candidates()) plan.settings[kCandidatesSetting] = record_.text();
  plan.settings.insert(recipe_settings_.begin(), recipe_settings_.end());
  plan.network = std::move(recipe_);
  report_numerics(*plan.graph, *reporter_);
  return note_settings(config_, network_, formats_, plan);
}

Status Build::write(Plan& plan, PlanSink& sink) {
  watch_.lap();
  BuildWatch& watch = *progress_.watch();
  watch.begin(BuildWatch::Step::kWrite);
  TENON_TRY(collect_code(plan, backend_, *reporter_));
  ToldSink told(sink, watch);
  TENON_TRY(write_and_free(plan, told));
  const double took = watch.seconds(BuildWatch::Step::kWrite);
  watch.kernels([&](BuildForecast& kernels) { kernels.wrote(told.bytes(), took); });
  progress_.all_done();
  reporter_->verbose("Build times: plan written in {:.2f} s", watch_.lap());
  end_reports(config_, plan, backend_, family_, *reporter_);
  return {};
}

}  // namespace tenon::api
