#include "api/implicit_quantization.h"

#include <algorithm>

#include "network/convert.h"
#include "quantizer/quantize_graph.h"

namespace tenon::api {
namespace {

/// Layers that are to compute in a floating point type, by name.
std::map<std::string, std::string> constrained_layers(const BuilderConfig& config,
                                                      const network::Network& network) {
  std::map<std::string, std::string> layers;
  if (!config.getFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS) &&
      !config.getFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS))
    return layers;
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const ILayer* layer = network.getLayer(i);
    if (!layer->precisionIsSet()) continue;
    const tenon::DataType type = network::from_public(layer->getPrecision());
    if (is_real(type) && byte_size(type) > 1)
      layers[layer->getName()] = fmt::format("setPrecision keeps it in {}", name_of(type));
  }
  return layers;
}

}  // namespace

Result<std::map<std::string, std::string>> quantize_by_ranges(const BuilderConfig& config,
                                                              const network::Network& network,
                                                              CompileRequest& request,
                                                              bool keep_weights, Logger& logger) {
  std::map<std::string, std::string> reasons;
  if (!quantizes_implicitly(config, network, *request.graph)) {
    if (config.getFlag(BuilderFlag::kINT8) && config.getInt8Calibrator() != nullptr)
      logger.warning(
          "setInt8Calibrator has no effect: the network's own QuantizeLinear and DequantizeLinear "
          "have the scales");
    return reasons;
  }
  TENON_ASSIGN(const auto ranges, find_ranges(config, network, *request.graph, request.backend,
                                              request.select.threads, logger));
  if (ranges.empty()) return reasons;
  const auto constrained = constrained_layers(config, network);
  const auto keeps = [&](const Node& node) {
    auto found = constrained.find(node.name);
    for (size_t i = 0; i < node.origins.size() && found == constrained.end(); ++i)
      found = constrained.find(node.origins[i]);
    return found == constrained.end() ? std::string() : found->second;
  };
  TENON_ASSIGN(QuantizedGraph quantized,
               quantize_graph(*request.graph, ranges, keeps, keep_weights));
  for (UnquantizedLayer& layer : quantized.others)
    reasons[std::move(layer.name)] = std::move(layer.reason);
  return reasons;
}

}  // namespace tenon::api
