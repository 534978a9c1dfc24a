#include "api/layer_work.h"

#include <algorithm>
#include <set>

#include "ops/ops.h"

namespace tenon::api {
namespace {

double extent_of(const Dim& dim, const SymbolValues& symbols) {
  return static_cast<double>(dim.evaluate(symbols).value_or(0));
}

double count_of(const Value* value, const SymbolValues& symbols) {
  double count = 1;
  for (const Dim& dim : value->type.shape) count *= extent_of(dim, symbols);
  return count;
}

/// Operations for one element of the result.
double depth_of(const Node& node, const SymbolValues& symbols) {
  const auto inner = [&](const Value* value, size_t from_back) {
    const Shape& shape = value->type.shape;
    return shape.size() < from_back ? 1 : extent_of(shape[shape.size() - from_back], symbols);
  };
  if (node.is<Conv>() || node.is<DeformConv>()) {
    const double channels = std::max(1.0, extent_of(node.output()->type.shape[1], symbols));
    return 2 * count_of(node.input(1), symbols) / channels;
  }
  if (const auto* matmul = node.as<MatMul>())
    return 2 * inner(node.input(0), matmul->transpose_a ? 2 : 1);
  if (node.is<Attention>()) return 4 * inner(node.input(1), 2);
  if (node.is<Rnn>())
    return 8 * (inner(node.input(0), 1) + static_cast<double>(node.as<Rnn>()->hidden));
  if (const auto* pool = node.as<Pool>()) {
    double window = 1;
    for (const int64_t extent : pool->kernel) window *= static_cast<double>(extent);
    return window;
  }
  return 1;
}

double operations_of(const Node& node, const SymbolValues& symbols) {
  double sum = 0;
  if (node.is<Fused>()) {
    for (const auto& member : node.bodies[0]->nodes()) sum += operations_of(*member, symbols);
    return sum;
  }
  if (node.is<Constant>() || node.is<Dims>() || node.outputs().empty()) return 0;
  // A transposed convolution multiplies each element of its input by all weights of its channel.
  if (node.is<Deconv>()) {
    const double channels = std::max(1.0, extent_of(node.input(1)->type.shape[0], symbols));
    return 2 * count_of(node.input(0), symbols) * count_of(node.input(1), symbols) / channels;
  }
  return count_of(node.output(), symbols) * depth_of(node, symbols);
}

double bytes_of(const Value* value, const ConcreteGraph& concrete) {
  return static_cast<double>(element_count(concrete.extents(value))) *
         static_cast<double>(byte_size(value->type.type));
}

/// Of a table only the rows that are taken are read.
bool reads_a_part(const Node& node) {
  return node.is<Gather>() || node.is<GatherNd>() || node.is<GatherElements>();
}

}  // namespace

LayerWork work_of(const Node& node, const ConcreteGraph& concrete) {
  LayerWork work;
  for (const Value* output : node.outputs())
    if (concrete.resolved(output)) work.written += bytes_of(output, concrete);
  std::set<const Value*> seen;
  for (const Value* input : node.inputs()) {
    if (input == nullptr || !concrete.resolved(input) || !seen.insert(input).second) continue;
    double bytes = bytes_of(input, concrete);
    if (reads_a_part(node) && input == node.input(0)) bytes = std::min(bytes, work.written);
    work.read += bytes;
    if (input->constant() != nullptr) work.weights += bytes;
  }
  work.operations = operations_of(node, concrete.symbols());
  return work;
}

}  // namespace tenon::api
