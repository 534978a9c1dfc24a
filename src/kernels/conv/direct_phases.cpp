// Transposed convolutions: output position o takes tap t from input position
// (o + pad - t * dilation) / stride where that is whole. Positions with the same residue of
// o + pad have the same taps, and their inputs are neighbours.
#include <algorithm>
#include <cstring>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "kernels/conv/direct.h"

namespace tenon::cpu {
namespace {

// Lines of so many tiles are products of their own: blocks of rows would cut them unevenly.
constexpr int64_t kTilesOfLongLine = 4;

/// An input position, counted from that of a block of output pixels, and the tap by which each
/// pixel of the block reads it; -1: none.
struct Met {
  int64_t shift;
  std::vector<int64_t> taps;
};

/// Of the block of `pixels` positions from `first` on, along one axis, in order.
std::vector<Met> met_by(const ConvProblem& p, int axis, int64_t first, int64_t pixels) {
  std::vector<Met> all;
  for (int64_t pixel = 0; pixel < pixels; ++pixel)
    for (int64_t tap = 0; tap < p.kernel[axis]; ++tap) {
      const int64_t at = first + pixel + p.pad[axis] - tap * p.dilation[axis];
      if (floor_mod(at, p.stride[axis]) != 0) continue;
      auto met = std::ranges::find(all, at / p.stride[axis], &Met::shift);
      if (met == all.end())
        met = all.insert(met, {at / p.stride[axis], std::vector<int64_t>(pixels, -1)});
      met->taps[pixel] = tap;
    }
  std::ranges::sort(all, {}, &Met::shift);
  return all;
}

/// Whether the inputs of a row of taps lie side by side in a channels-last image.
bool is_run(const ConvProblem& p, const std::vector<Met>& wide) {
  return p.groups == 1 && p.input_pixel_stride == p.input_channels && !wide.empty() &&
         wide.back().shift - wide.front().shift + 1 == static_cast<int64_t>(wide.size());
}

}  // namespace

/// Of few channels most columns of a product would be empty; and where nothing more is multiplied,
/// whole lines are written at once.
bool DirectConvolution::merges_residues(const Microkernels& kernels) const {
  const ConvProblem& p = problem_;
  const int64_t stride = p.stride[2], channels = p.output_channels;
  if (stride == 1 || p.groups != 1 || p.output[2] % stride != 0 ||
      p.output_pixel_stride != channels)
    return false;
  if (std::ranges::any_of(p.steps,
                          [](const EpilogueStep& s) { return s.operand == OperandKind::full; }))
    return false;
  int64_t apart = 0;
  for (int64_t first = 0; first < stride; ++first)
    apart += static_cast<int64_t>(met_by(p, 2, first, 1).size());
  const auto together = static_cast<int64_t>(met_by(p, 2, 0, stride).size());
  return together * ceil_div(stride * channels, kernels.panel) <=
         apart * ceil_div(channels, kernels.panel);
}

void DirectConvolution::make_phases(const Microkernels& kernels) {
  const Spatial& stride = problem_.stride;
  if (merges_residues(kernels)) merged_ = stride[2];
  for (int64_t d = 0; d < stride[0]; ++d)
    for (int64_t h = 0; h < stride[1]; ++h)
      for (int64_t w = 0; w < stride[2] / merged_; ++w) make_phase(kernels, {d, h, w});
}

void DirectConvolution::make_phase(const Microkernels& kernels, const Spatial& residue) {
  const ConvProblem& p = problem_;
  Phase phase;
  Gather& g = phase.gather = base_gather(kernels);
  g.step = {1, 1, 1}, g.origin = {};
  phase.step = p.stride;
  for (int i = 0; i < 3; ++i) {
    const bool whole = i == 2 && merged_ > 1;
    phase.first[i] = whole ? 0 : floor_mod(residue[i] - p.pad[i], p.stride[i]);
    g.rows[i] = std::max<int64_t>(0, ceil_div(p.output[i] - phase.first[i], p.stride[i]));
  }
  if (volume(g.rows) == 0) return;
  const std::vector<Met> wide = met_by(p, 2, phase.first[2], merged_);
  g.width = is_run(p, wide) ? static_cast<int64_t>(wide.size()) : 1;
  std::vector<Spatial> taps;
  for (const Met& deep : met_by(p, 0, phase.first[0], 1))
    for (const Met& high : met_by(p, 1, phase.first[1], 1))
      for (size_t i = 0; i < wide.size(); ++i) {
        taps.push_back({deep.taps[0], high.taps[0], 0});
        if (static_cast<int64_t>(i) % g.width != 0) continue;
        const int64_t offset = deep.shift * g.depth_stride + high.shift * g.height_stride +
                               wide[i].shift * g.column_stride;
        g.runs.push_back(
            {int32_t(deep.shift), int32_t(high.shift), int32_t(wide[i].shift), offset});
      }
  std::vector<Spatial>& order = taps_.emplace_back();
  for (int64_t pixel = 0; pixel < merged_; ++pixel)
    for (size_t i = 0; i < taps.size(); ++i)
      order.push_back({taps[i][0], taps[i][1], wide[i % wide.size()].taps[pixel]});
  const OutputLines lines = lines_of(phase, kernels.max_rows);
  if (lines.rows == 0) phase.lines = p.batch * g.rows[0] * g.rows[1];
  phase.plan = plan_product(kernels, p.batch * volume(g.rows) / phase.lines,
                            merged_ * p.output_channels / p.groups, g.k(), p.output_type, p.steps,
                            p.groups * phase.lines, p.threads, true, {.lines = lines});
  phases_.push_back(std::move(phase));
}

/// All lines of images as one product, where they are short and lie whole steps apart; without rows
/// otherwise.
OutputLines DirectConvolution::lines_of(const Phase& phase, int64_t most_rows) const {
  const ConvProblem& p = problem_;
  const Spatial& rows = phase.gather.rows;
  const int64_t step = phase.step[2];
  const int64_t line = p.output[2] * phase.step[1], image = p.output[2] * p.output[1];
  const bool whole = (rows[1] == 1 || line % step == 0) && (p.batch == 1 || image % step == 0);
  const bool is_long = rows[2] >= kTilesOfLongLine * most_rows || p.batch * rows[1] == 1;
  if (p.output[0] != 1 || !whole || is_long) return {};
  return {.rows = rows[2], .lines = rows[1], .line_step = line / step, .image_step = image / step};
}

size_t DirectConvolution::repeated_bytes() const {
  if (merged_ == 1) return 0;
  return problem_.steps.size() *
         align_up(static_cast<size_t>(merged_ * problem_.output_channels) * sizeof(float));
}

/// Operands of channels, once for each of the merged pixels.
void DirectConvolution::repeat_operands(const ConvArguments& arguments, char* to,
                                        EpilogueOperand* operands) const {
  const std::vector<EpilogueStep>& steps = problem_.steps;
  for (size_t i = 0; i < steps.size(); ++i) {
    operands[i] = arguments.operands[i];
    if (steps[i].operand != OperandKind::per_column) continue;
    const int64_t bytes = problem_.output_channels * element_size(steps[i].operand_type);
    char* own = to + static_cast<int64_t>(i * repeated_bytes() / steps.size());
    for (int64_t pixel = 0; pixel < merged_; ++pixel)
      std::memcpy(own + pixel * bytes, operands[i].data, static_cast<size_t>(bytes));
    operands[i].data = own;
  }
}

}  // namespace tenon::cpu
