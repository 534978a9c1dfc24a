// Operators of the domain com.microsoft that ONNX Runtime's optimizer makes of diffusion models,
// and of other networks with channels last.
#include "onnx/import_window.h"
#include "onnx/op_table.h"
#include "ops/nn.h"

namespace tenon::importer {
namespace {

using F = PointwiseFunction;

/// Normalized and activated; x has its channels last unless the attribute says otherwise.
Value* normalized_in_groups(NodeImporter& n, Value* x) {
  const bool last = n.flag("channels_last", true);
  Normalization op;
  op.norm = NormKind::kGroup;
  op.epsilon = n.real_attribute("epsilon", 1e-5F);
  op.groups = n.integer_attribute("groups", 1);
  const auto vector = [&](int index) { return n.cast(n.input(index), n.type(x)); };
  Value* y = n.add(op, {last ? channels_moved(n, x, true) : x, vector(1), vector(2)});
  if (last) y = channels_moved(n, y, false);
  return n.flag("activation") ? n.pointwise(F::k_swish, {y}, 1) : y;
}

/// A summand of images: one of their shape, or one number for each channel of each image.
Value* skipped(NodeImporter& n, Value* skip) {
  return n.rank(skip) == 2 ? n.unsqueeze(skip, {1, 2}) : skip;
}

}  // namespace

void import_group_norm(NodeImporter& n, const OpRow&) {
  n.output(normalized_in_groups(n, n.input(0)));
}

/// Output 1 is the sum that is normalized.
void import_skip_group_norm(NodeImporter& n, const OpRow&) {
  n.expect("channels_last", 1);
  Value* sum = n.add(n.input(0), skipped(n, n.input(3)));
  if (n.has_input(4)) sum = n.add(sum, n.input(4));
  n.output(0, normalized_in_groups(n, sum));
  if (n.wants(1)) n.output(1, sum);
}

void import_bias_add(NodeImporter& n, const OpRow&) {
  n.output(n.add(n.add(n.input(0), n.input(1)), n.input(2)));
}

/// The left half, times the GELU of the right one.
void import_bias_split_gelu(NodeImporter& n, const OpRow&) {
  Value* x = n.add(n.input(0), n.input(1));
  const int64_t axis = n.rank(x) - 1, size = n.constant_extent(n.input(1), 0), half = size / 2;
  n.output(
      n.mul(n.slice(x, axis, 0, half), n.pointwise(F::k_gelu_erf, {n.slice(x, axis, half, size)})));
}

/// Images and weights have their channels last.
void import_nhwc_conv(NodeImporter& n, const OpRow&) {
  Value* y = n.add(convolution(n), {channels_moved(n, n.input(0), true),
                                    channels_moved(n, n.input(1), true), n.input(2)});
  n.output(channels_moved(n, y, false));
}

}  // namespace tenon::importer
