#include "api/implicit_quantization.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <utility>

#include "api/integer_plugins.h"
#include "base/stopwatch.h"
#include "network/convert.h"
#include "ops/table.h"
#include "quantizer/choose_layers.h"
#include "quantizer/quantize_graph.h"

namespace tenon::api {
namespace {

/// Layers that setPrecision binds to a type, by name.
struct BoundLayers {
  std::map<std::string, std::string> floats;  ///< With the words for it.
  std::set<std::string> bytes;
};

BoundLayers bound_layers(const BuilderConfig& config, const network::Network& network) {
  BoundLayers layers;
  if (!config.getFlag(BuilderFlag::kOBEY_PRECISION_CONSTRAINTS) &&
      !config.getFlag(BuilderFlag::kPREFER_PRECISION_CONSTRAINTS))
    return layers;
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const ILayer* layer = network.getLayer(i);
    if (!layer->precisionIsSet()) continue;
    const tenon::DataType type = network::from_public(layer->getPrecision());
    if (is_real(type) && byte_size(type) > 1)
      layers.floats[layer->getName()] = fmt::format("setPrecision asks for {}", name_of(type));
    if (type == tenon::DataType::kInt8) layers.bytes.insert(layer->getName());
  }
  return layers;
}

/// The layers whose type time may choose.
std::set<std::string> choosable(const std::vector<std::string>& layers,
                                const std::set<std::string>& bound) {
  std::set<std::string> left;
  for (const std::string& name : layers)
    if (!bound.contains(name)) left.insert(name);
  return left;
}

/// From this optimization level on layers are quantized where that is faster alone.
constexpr int kTimedLevel = 3;

constexpr std::string_view kNoProduct =
    "ranges quantize convolutions and matrix products with constant weights alone";
constexpr std::string_view kNoRanges =
    "there are no ranges; give a calibrator (setInt8Calibrator), ranges (setDynamicRange), or a "
    "model with QuantizeLinear and DequantizeLinear (tenon quantize)";

class Quantizing {
 public:
  /// `kept`: layers that stay in floating point, and why.
  Quantizing(const std::map<std::string, float>& ranges, std::map<std::string, std::string> kept,
             bool keep_weights, bool has_groups)
      : ranges_(ranges),
        kept_(std::move(kept)),
        keep_weights_(keep_weights),
        has_groups_(has_groups) {}

  Result<QuantizedGraph> apply(Graph& graph) const {
    TENON_ASSIGN(const auto plugins, quantize_plugins(graph, {ranges_}, [this](const Node& node) {
                   return !reason_for(node).empty();
                 }));
    TENON_ASSIGN(
        QuantizedGraph result,
        quantize_graph(
            graph, ranges_, [this](const Node& node) { return reason_for(node); }, keep_weights_));
    result.layers.insert(result.layers.end(), plugins.begin(), plugins.end());
    return result;
  }
  void keep(const std::set<std::string>& slower) {
    for (const std::string& name : slower) kept_[name] = kFasterReason;
  }
  Result<std::unique_ptr<Graph>> without(const Graph& plain,
                                         const std::set<std::string>& slower) const {
    Quantizing others = *this;
    others.keep(slower);
    std::unique_ptr<Graph> graph = plain.clone();
    TENON_ASSIGN([[maybe_unused]] const QuantizedGraph quantized, others.apply(*graph));
    return graph;
  }

 private:
  std::string reason_for(const Node& node) const {
    auto found = kept_.find(node.name);
    for (size_t i = 0; i < node.origins.size() && found == kept_.end(); ++i)
      found = kept_.find(node.origins[i]);
    if (found != kept_.end()) return found->second;
    const auto* conv = node.as<Conv>();
    const bool refused = conv != nullptr && conv->groups != 1 && !has_groups_;
    return refused ? "this device's kernels for 8 bits have no groups" : std::string();
  }

  const std::map<std::string, float>& ranges_;
  std::map<std::string, std::string> kept_;
  bool keep_weights_, has_groups_;
};

/// Whether there is a layer that ranges may quantize.
bool has_candidates(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const auto& node) {
    return node->template is<Conv>() || node->template is<MatMul>() || node->template is<Plugin>();
  });
}

}  // namespace

Result<ImplicitQuantization> quantize_by_ranges(const BuilderConfig& config,
                                                const network::Network& network,
                                                CompileRequest& request, bool keep_weights,
                                                TimingCache& cache, Logger& logger) {
  ImplicitQuantization result;
  Stopwatch watch;
  if (!quantizes_implicitly(config, network, *request.graph)) {
    if (config.getFlag(BuilderFlag::kINT8) && config.getInt8Calibrator() != nullptr)
      logger.warning(
          "setInt8Calibrator has no effect: the network's own QuantizeLinear and DequantizeLinear "
          "have the scales");
    return result;
  }
  result.tried = true;
  result.others = kNoProduct;
  const bool has_use = has_candidates(*request.graph);
  // A calibrator is asked all the same: applications count its batches and keep its cache.
  if (!has_use && config.getInt8Calibrator() == nullptr) return result;
  TENON_ASSIGN(auto ranges, find_ranges(config, network, *request.graph, request.backend,
                                        request.select.threads, logger));
  share_ranges_of_bindings(*request.graph, ranges);
  if (!has_use) return result;
  if (ranges.empty()) {
    result.others = kNoRanges;
    return result;
  }
  // Extents that profiles fix are known to the passes that weights go through first.
  TENON_TRY(apply_profiles(*request.graph, request.profiles));
  TENON_TRY(infer_graph(*request.graph));
  const BoundLayers bound = bound_layers(config, network);
  Quantizing quantizing(ranges, bound.floats, keep_weights, request.passes.quantized_groups);
  const std::shared_ptr<const Graph> plain = request.graph->clone();
  TENON_ASSIGN(QuantizedGraph quantized, quantizing.apply(*request.graph));
  if (request.select.level >= kTimedLevel) {
    const LayerChoice choice{
        *plain, *request.graph, choosable(quantized.layers, bound.bytes),
        [&](const auto& layers) { return quantizing.without(*plain, layers); }};
    auto slower = layers_faster_plain(choice, request, cache, logger);
    // The cache may have the choice of a build that bound no layer.
    if (slower.ok())
      std::erase_if(*slower, [&](const auto& name) { return bound.bytes.contains(name); });
    if (!slower.ok()) {
      logger.verbose("INT8: layers are not timed: {}", slower.error().message);
    } else if (!slower->empty()) {
      request.graph = plain->clone();
      quantizing.keep(*slower);
      TENON_ASSIGN(quantized, quantizing.apply(*request.graph));
    }
  }
  for (UnquantizedLayer& layer : quantized.others)
    result.reasons[std::move(layer.name)] = std::move(layer.reason);
  if (!quantized.layers.empty()) result.unquantized = plain;
  result.seconds = watch.lap();
  return result;
}

}  // namespace tenon::api
