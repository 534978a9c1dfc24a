#include "api/precision_check.h"

#include <map>
#include <set>

#include "api/quantized_operands.h"
#include "network/convert.h"
#include "quantizer/pair_budget.h"

namespace tenon::api {
namespace {

using PublicType = nvinfer1::DataType;

/// The types that layers compute in only where a flag allows it.
struct Allowed {
  PublicType type;
  BuilderFlag flag;
  const char* words;
};
constexpr Allowed kAllowed[] = {
    {PublicType::kHALF, BuilderFlag::kFP16, "BuilderFlag::kFP16 (--fp16)"},
    {PublicType::kBF16, BuilderFlag::kBF16, "BuilderFlag::kBF16 (--bf16)"},
    {PublicType::kINT8, BuilderFlag::kINT8, "BuilderFlag::kINT8 (--int8)"},
    {PublicType::kFP8, BuilderFlag::kFP8, "BuilderFlag::kFP8 (--fp8)"},
    {PublicType::kINT4, BuilderFlag::kINT4, "BuilderFlag::kINT4 (--int4)"},
};

class Constraints {
 public:
  Constraints(const BuilderConfig& config, bool on_gpu, PassOptions& options)
      : config_(config), on_gpu_(on_gpu), options_(options) {}

  Status apply(const nvinfer1::ILayer& layer) {
    bool keeps = false;
    if (layer.precisionIsSet()) {
      TENON_TRY(check_allowed(layer, layer.getPrecision()));
      keeps = layer.getPrecision() == PublicType::kFLOAT;
      want_type(layer);
    }
    for (int32_t i = 0; i < layer.getNbOutputs(); ++i) {
      if (!layer.outputTypeIsSet(i)) continue;
      TENON_TRY(check_allowed(layer, layer.getOutputType(i)));
      keeps |= layer.getOutputType(i) == PublicType::kFLOAT;
    }
    if (keeps && options_.precision.has_value())
      options_.disabled.push_back(fmt::format("lower_precision:{}", layer.getName()));
    return {};
  }

  /// Products that the network quantizes itself and layers want in a floating point type multiply
  /// the rounded numbers in it.
  void keep_in_floats(const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      for (const auto& body : node->bodies) keep_in_floats(*body);
      if (in_floats_.contains(node->name) && has_products(*node) &&
          byte_size(quantized_type(node->input(0))) == 1)
        for (const char* pass : {"fuse_quantized", "fuse_quantized_attention"})
          options_.disabled.push_back(fmt::format("{}:{}", pass, node->name));
    }
  }

  void report_unmet(Logger& logger) const {
    for (const auto& [type, layers] : unmet_)
      logger.warning(
          "setPrecision({}) (--layerPrecisions) has no effect on {} of the layers, which compute "
          "in floating point: {}",
          name_of(network::from_public(type)), layers.size(), listed(layers));
  }

 private:
  static bool is_wide_real(PublicType type) {
    return type == PublicType::kFLOAT || type == PublicType::kHALF || type == PublicType::kBF16;
  }
  Status check_allowed(const nvinfer1::ILayer& layer, PublicType type) const {
    for (const Allowed& allowed : kAllowed)
      if (allowed.type == type && !config_.getFlag(allowed.flag))
        return user_error(
            "layer '{}' is to compute in {}, which the configuration does not allow: set {}",
            layer.getName(), name_of(network::from_public(type)), allowed.words);
    return {};
  }

  static bool is_narrow(PublicType type) {
    return type == PublicType::kINT8 || type == PublicType::kFP8 || type == PublicType::kINT4;
  }
  static bool gives_reals(const nvinfer1::ILayer& layer) {
    return layer.getNbOutputs() > 0 && is_real(network::from_public(layer.getOutputType(0))) &&
           layer.getType() != nvinfer1::LayerType::kCONSTANT;
  }

  /// The CPU has one 16-bit type, which stands for both.
  void want_type(const nvinfer1::ILayer& layer) {
    const PublicType type = layer.getPrecision();
    if (is_wide_real(type))
      in_floats_.insert(layer.getName());
    else if (!is_narrow(type) && gives_reals(layer))
      unmet_[type].emplace_back(layer.getName());
    const bool is_half = is_wide_real(type) && type != PublicType::kFLOAT;
    if (is_half && on_gpu_ && options_.precision.has_value())
      options_.types.emplace_back(layer.getName(), network::from_public(type));
  }

  const BuilderConfig& config_;
  const bool on_gpu_;
  PassOptions& options_;
  std::set<std::string> in_floats_;
  std::map<PublicType, std::vector<std::string>> unmet_;  ///< Layers by a type that none has.
};

}  // namespace

Status apply_precisions(const BuilderConfig& config, const nvinfer1::INetworkDefinition& network,
                        CompileRequest& request, Logger& logger) {
  if (!config.getFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS) &&
      !config.getFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS))
    return {};
  const bool on_gpu = !request.backend.device->capabilities().host_cores;
  Constraints constraints(config, on_gpu, request.passes);
  for (int32_t i = 0; i < network.getNbLayers(); ++i)
    TENON_TRY(constraints.apply(*network.getLayer(i)));
  constraints.keep_in_floats(*request.graph);
  constraints.report_unmet(logger);
  return {};
}

std::vector<KeptNode> keep_within_budget(const BuilderConfig& config, CompileRequest& request,
                                         Logger& logger) {
  if (config.precision_budget() < 0 || !request.passes.precision.has_value()) return {};
  auto kept = nodes_to_keep(*request.graph, request.profiles, *request.passes.precision,
                            config.precision_budget(), logger);
  if (!kept.ok()) {
    logger.warning("The budget for precision has no effect: {}", kept.error().message);
    return {};
  }
  for (const KeptNode& node : *kept)
    request.passes.disabled.push_back(fmt::format("lower_precision:{}", node.name));
  return std::move(kept).value();
}

std::vector<KeptNode> keep_within_quantization_budget(const BuilderConfig& config,
                                                      CompileRequest& request, Logger& logger) {
  const bool allowed = config.getFlag(BuilderFlag::kINT8) || config.getFlag(BuilderFlag::kFP8);
  if (config.quantization_budget() < 0 || !allowed) return {};
  auto kept =
      readers_to_keep(*request.graph, request.profiles, config.quantization_budget(), logger);
  if (!kept.ok()) {
    logger.warning("The budget for quantization has no effect: {}", kept.error().message);
    return {};
  }
  leave_pairs_out(*request.graph, *kept);
  return std::move(kept).value();
}

}  // namespace tenon::api
