#include "api/build_request.h"

#include <algorithm>

#include "api/configure_plugins.h"
#include "api/creators.h"
#include "api/integer_plugins.h"
#include "api/lower_plugins.h"
#include "api/optimization_profile.h"
#include "api/precision_check.h"

namespace tenon::api {
namespace {

using network::Network;

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

}  // namespace

Result<std::unique_ptr<Graph>> ready_graph(Network& network, const BuilderConfig& config,
                                           Logger& logger) {
  TENON_ASSIGN(auto graph, network.finished_graph());
  TENON_TRY(find_creators(*graph));
  TENON_TRY(settle_integer_plugins(*graph, config, network, logger));
  remark_nibbles(*graph, logger);
  return graph;
}

Status take_profiles(const BuilderConfig& config, CompileRequest& request) {
  for (const IOptimizationProfile* profile : config.profiles())
    request.profiles.push_back(dynamic_cast<const OptimizationProfile*>(profile)->profile());
  return configure_plugins(*request.graph, request.profiles);
}

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

Result<std::vector<KeptNode>> set_passes(const BuilderConfig& config, const Network& network,
                                         CompileRequest& request, Logger& logger) {
  Device& device = *request.backend.device;
  const bool strongly_typed = network.getFlag(NetworkDefinitionCreationFlag::kSTRONGLY_TYPED);
  request.passes = pass_options(config, device, strongly_typed, logger);
  TENON_TRY(apply_precisions(config, network, request, logger));
  std::vector<KeptNode> kept = keep_within_budget(config, request, logger);
  TENON_TRY(lower_plugins(*request.graph, request.passes));
  report_unmatched(request.passes, *request.graph, logger);
  return kept;
}

void set_search(const BuilderConfig& config, SelectOptions& options) {
  options.average_runs = config.getAvgTimingIterations();
  options.max_candidates = config.getMaxNbTactics();
  options.use_cache = !config.getFlag(BuilderFlag::kDISABLE_TIMING_CACHE);
  options.editable_cache = config.getFlag(BuilderFlag::kEDITABLE_TIMING_CACHE);
  options.fail_on_cache_miss =
      config.timing_cache() != nullptr && config.getFlag(BuilderFlag::kERROR_ON_TIMING_CACHE_MISS);
  options.workspace_limit = config.getMemoryPoolLimit(MemoryPoolType::kWORKSPACE);
}

bool is_refittable(const BuilderConfig& config) {
  return config.getFlag(BuilderFlag::kREFIT) || config.getFlag(BuilderFlag::kREFIT_IDENTICAL) ||
         config.getFlag(BuilderFlag::kREFIT_INDIVIDUAL) || config.getFlag(BuilderFlag::kSTRIP_PLAN);
}

}  // namespace tenon::api
