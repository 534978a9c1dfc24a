#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// A layer with products that stays as it is, and why.
struct UnquantizedLayer {
  std::string name, reason;
};

struct QuantizedGraph {
  std::vector<std::string> layers;  ///< Products that are computed in 8 bits.
  std::vector<UnquantizedLayer> others;
};

/// Implicit quantization made explicit: puts QuantizeLinear and DequantizeLinear with the scales
/// of `ranges` (largest absolute values by tensor name) around the convolutions and matmuls of an
/// f32 network, and quantizes their weights to i8, one scale an output channel. `keeps` tells why a
/// node must not be quantized, or nothing. Batch normalization and the like go into weights first,
/// unless the network is to `keep_weights` as they are, to be refitted. The graph must have types;
/// it is sorted and has types again afterwards.
Result<QuantizedGraph> quantize_graph(Graph& graph, const std::map<std::string, float>& ranges,
                                      const std::function<std::string(const Node&)>& keeps,
                                      bool keep_weights);

}  // namespace tenon
