#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// The one text of all levels:
///
///     graph "resnet" (%0 "input": f32[batch,3,224,224]) where batch in [1,8] {
///       %1 = constant() {value = f32[64,3,7,7]#<content hash>} : f32[64,3,7,7]
///       %2 = conv "conv1"(%0, %1) {strides = [2,2]} : f32[batch,64,112,112]@nhwc
///       %3 "y" = fused "conv2 + relu2"(%2, %1) graph "" (%0: ..., %1: ...) {
///         %2 = relu(%0) : f32[batch,64,112,112]
///         return %2
///       } : f32[batch,64,112,112] from ["conv2","relu2"] @cpu.conv{mb=14}
///       return %3
///     }
///
/// A value is defined as %number "name": type, where numbers count a graph's inputs and outputs of
/// nodes; absent operands are written _. Known contents of shape tensors follow a type as
/// i64[2]=(batch,64). Attributes that have their default value are left out. Constants of at most
/// 16 elements are written out, larger ones by content hash, resolved on reading through
/// `WeightSource`. Comments run from // to the end of the line.
std::string print(const Graph& graph);
/// One node's line.
std::string print(const Node& node);

/// Finds large constants by content hash while reading.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  virtual Result<Tensor> find(std::string_view content_hash) const = 0;
};

/// Constants of another graph, e.g. of the one that was printed.
std::unique_ptr<WeightSource> weights_of(const Graph& graph);

/// Parses the output of print(); parse(print(g)) equals g. Errors name line and column. Needs the
/// operator table to make operators by name, hence implemented in ops/.
Result<std::unique_ptr<Graph>> parse_graph(std::string_view text,
                                           const WeightSource* weights = nullptr);

/// Graphs may nest this deep in the text.
inline constexpr int kMaxTextDepth = 32;
/// Constants up to this many elements are written out.
inline constexpr int64_t kMaxWrittenElements = 16;

/// Same structure, types, attributes, names and constants.
bool equal(const Graph& a, const Graph& b);

}  // namespace tenon
