#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "api/builder_config.h"
#include "base/status.h"
#include "ir/graph.h"
#include "network/network.h"

namespace tenon::api {

/// What plugins' operands of 8 bits stand for. Where a real operand becomes one, its scale is that
/// of the pair of QuantizeLinear and DequantizeLinear there, else its range.
struct IntegerPlugins {
  std::map<std::string, float> ranges;  ///< Largest absolute values by tensor name.

  /// Gives the plugin operands in 8 bits, as many of its reals as it takes and as have scales.
  /// Whether there was such an operand; else `missing` is the first real one without a scale. The
  /// graph must be sorted again.
  Result<bool> quantize(Graph& graph, Node& node, std::string& missing) const;
};

/// The scales of operands that are in 8 bits, and operands in 8 bits for plugins that take no reals
/// or whose layer asks for kINT8. An error where one takes no reals and there are no scales.
Status settle_integer_plugins(Graph& graph, const BuilderConfig& config,
                              const network::Network& network, Logger& logger);

/// Operands in 8 bits for all plugins that take them and have the scales, but for those of which
/// `stays` is true. The names of the layers; the graph is sorted again.
Result<std::vector<std::string>> quantize_plugins(Graph& graph, const IntegerPlugins& scales,
                                                  const std::function<bool(const Node&)>& stays);

}  // namespace tenon::api
