#include "kernels/dequantized_weights.h"

#include "kernels/region.h"

namespace tenon {

Result<DequantizedWeights> dequantized_weights(const Problem& problem, const MatMul& matmul,
                                               const Node& dequantize) {
  DequantizedWeights d;
  d.weights = input_number(dequantize.input(0)), d.scales = input_number(dequantize.input(1));
  d.zeros = dequantize.has_input(2) ? input_number(dequantize.input(2)) : -1;
  if (d.weights < 0 || d.scales < 0 || (dequantize.has_input(2) && d.zeros < 0))
    return unsupported("weights that are computed in the region");
  const Operand& w = problem.input(d.weights);
  const Tensor *scales = problem.input(d.scales).constant, *zeros = nullptr;
  if (w.constant == nullptr || scales == nullptr || w.rank() != 2)
    return unsupported("weights that are no constant matrix");
  if (d.zeros >= 0 && (zeros = problem.input(d.zeros).constant) == nullptr)
    return unsupported("zero points that are not constant");
  d.type = w.type;
  if (!d.nibbles() && w.type != DataType::kInt8 && w.type != DataType::kUInt8)
    return unsupported("weights of {}", name_of(w.type));
  d.across = !matmul.transpose_b;
  d.depth = w.extents[d.across ? 0 : 1], d.columns = w.extents[d.across ? 1 : 0];
  if (d.depth == 0 || d.columns == 0) return unsupported("an empty tensor");
  const auto& op = *dequantize.as<Dequantize>();
  const int64_t axis = op.axis < 0 ? op.axis + 2 : op.axis, along = d.across ? 0 : 1;
  d.blocked = op.block_size > 0;
  d.by_column = !d.blocked && scales->count() > 1;
  if (d.blocked ? axis != along : d.by_column && axis == along)
    return unsupported("scales along the other axis");
  d.block = d.blocked ? op.block_size : d.depth;
  if (zeros != nullptr && zeros->count() != scales->count())
    return unsupported("as many zero points as scales are expected");
  return d;
}

}  // namespace tenon
