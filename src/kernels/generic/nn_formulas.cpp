// Formulas of operators on images and sequences.
#include "kernels/generic/formulas.h"
#include "ops/nn.h"
#include "ops/nn_window.h"

namespace tenon::formulas {
namespace {

Status expect_real(const Problem& problem) {
  if (is_real(problem.output().type)) return {};
  return unsupported("the type {}", name_of(problem.output().type));
}

}  // namespace

Status lrn(const Problem& problem, const Lrn& op, Formula& f) {
  TENON_TRY(expect_real(problem));
  f.number("kBefore", (op.size - 1) / 2);
  f.number("kAfter", op.size / 2);
  f.real("kSize", static_cast<double>(op.size));
  f.real("kAlpha", op.alpha);
  f.real("kBeta", op.beta);
  f.real("kBias", op.bias);
  return {};
}

Status hardmax(const Problem& problem, const Hardmax& op, Formula& f) {
  f.number("kAxis", axis_of(op.axis, problem.input(0).rank()));
  return {};
}

Status grid_sample(const Problem& problem, const GridSample& op, Formula& f) {
  TENON_TRY(expect_real(problem));
  f.number("kMode", static_cast<int>(op.mode));
  f.number("kPadding", static_cast<int>(op.padding));
  f.flag("kAlignCorners", op.align_corners);
  return {};
}

Status affine_grid(const Problem& problem, const AffineGrid& op, Formula& f) {
  TENON_TRY(expect_real(problem));
  f.flag("kAlignCorners", op.align_corners);
  return {};
}

Status roi_pool(const Problem& problem, const RoiPool& op, Formula& f) {
  TENON_TRY(expect_real(problem));
  f.number("kFunction", static_cast<int>(op.function));
  f.real("kScale", op.spatial_scale);
  f.number("kSampling", op.sampling_ratio);
  f.flag("kHalfPixel", op.half_pixel);
  f.flag("kHasImages", problem.has_input(2));
  return {};
}

Status deform_conv(const Problem& problem, const DeformConv& op, Formula& f) {
  TENON_TRY(expect_real(problem));
  for (const int axis : {0, 1}) {
    f.number(fmt::format("kStride{}", axis), axis_or(op.strides, axis, 1));
    f.number(fmt::format("kDilation{}", axis), axis_or(op.dilations, axis, 1));
    f.number(fmt::format("kBegin{}", axis), axis_or(op.pads_begin, axis, 0));
  }
  f.number("kGroups", op.groups);
  f.number("kOffsetGroups", op.offset_groups);
  f.flag("kHasBias", problem.has_input(3));
  f.flag("kHasMask", problem.has_input(4));
  return {};
}

Status rotary(const Problem& problem, const RotaryEmbedding& op, Formula& f) {
  TENON_TRY(expect_real(problem));
  const Operand &x = problem.input(0), &cosines = problem.input(1);
  const int64_t heads = x.rank() == 3 ? op.heads : 1;
  const int64_t size = x.extents.back() / heads;
  const int64_t rotated = op.rotary_dim == 0 ? size : op.rotary_dim;
  f.number("kHeads", heads);
  f.number("kRotated", rotated);
  f.number("kCacheRows", rotated == 0 ? 0 : cosines.count() / (rotated / 2));
  f.flag("kInterleaved", op.interleaved);
  f.flag("kHasPositions", problem.has_input(3));
  return {};
}

Status batch_norm(const Problem& problem, const BatchNorm& op, Formula& f) {
  TENON_TRY(expect_real(problem));
  f.real("kEpsilon", op.epsilon);
  return {};
}

}  // namespace tenon::formulas
