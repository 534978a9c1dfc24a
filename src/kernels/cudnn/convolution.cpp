#include "kernels/cudnn/convolution.h"

#include <algorithm>
#include <numeric>

#include "base/arithmetic.h"
#include "kernels/image.h"
#include "ops/nn.h"
#include "ops/nn_window.h"

namespace tenon::cudnn {
namespace {

/// Channels of a folded pixel up to which folding pays.
constexpr int64_t kMaxFolded = 64;

/// Strides of an image whose channels are next to each other; `pixel` elements from one pixel to
/// the next.
std::vector<int64_t> pixel_strides(const std::vector<int64_t>& extents, int64_t pixel) {
  std::vector<int64_t> strides(extents.size(), 1);
  for (size_t i = extents.size(); i-- > 2;) {
    strides[i] = pixel;
    pixel *= extents[i];
  }
  strides[0] = pixel;
  return strides;
}

/// Extents with at least two spatial axes, aligned at the end to an output of `rank` axes.
std::vector<int64_t> image_extents(const Extents& extents, int rank) {
  std::vector<int64_t> result(rank - static_cast<int>(extents.size()), 1);
  result.insert(result.end(), extents.begin(), extents.end());
  if (rank == 3) result.insert(result.begin() + 2, 1);
  return result;
}

int64_t alignment_of(const Operand& operand) {
  return std::gcd(int64_t{16}, operand.alignment);
}

/// A whole image in the wanted layout.
Result<Shape> image_shape(const Operand& operand, bool channels_last) {
  Shape shape{image_extents(operand.extents, operand.rank()), {}, alignment_of(operand)};
  const auto pixel = pixel_stride(operand);
  if (channels_last && !pixel) return unsupported("an image that is not channels-last");
  if (!channels_last && (!operand.dense() || operand.layout != Layout::kRowMajor))
    return unsupported("an image that is neither channels-last nor dense");
  shape.strides =
      channels_last ? pixel_strides(shape.extents, *pixel) : packed_strides(shape.extents);
  return shape;
}

/// An input that is going to be packed may lie anyhow.
Shape any_shape(const Operand& operand) {
  Shape shape{image_extents(operand.extents, operand.rank()), operand.strides,
              alignment_of(operand)};
  if (operand.dense()) shape.strides = dense_strides(operand.extents, operand.layout);
  if (operand.rank() == 3)
    shape.strides.insert(shape.strides.begin() + 2, shape.strides.back() * operand.extents.back());
  return shape;
}

/// An operand of a step: an image like the output, or one that is repeated along some axes.
Result<Shape> operand_shape(const Operand& operand, const Convolution& convolution, int rank) {
  if (operand.rank() > rank) return unsupported("an operand of more axes than the output");
  Shape shape{image_extents(operand.extents, rank), {}, alignment_of(operand)};
  if (shape.extents == convolution.y.extents)
    return image_shape(operand, convolution.channels_last);
  for (size_t i = 0; i < shape.extents.size(); ++i)
    if (shape.extents[i] != 1 && shape.extents[i] != convolution.y.extents[i])
      return unsupported("an operand that widens the output");
  const auto wide = std::count_if(shape.extents.begin() + 2, shape.extents.end(),
                                  [](int64_t extent) { return extent != 1; });
  if (wide > 0 || !operand.dense()) return unsupported("an operand repeated over channels only");
  if (shape.extents[0] > 1)
    return unsupported(
        "of operands of a number for each channel and image cuDNN's kernels read "
        "misaligned addresses, which ends all work on the GPU (seen with 9.19)");
  shape.strides = pixel_strides(shape.extents, shape.extents[1]);
  return shape;
}

/// Padding before of one axis of the convolution from `large` to `small` elements.
int64_t pad_begin(const Conv& op, size_t axis, int64_t window, int64_t stride, int64_t large,
                  int64_t small) {
  if (op.pad_mode == PadMode::kExplicit) return axis_or(op.pads_begin, axis, 0);
  return pad_ahead(op.pad_mode, (small - 1) * stride + window - large);
}
int64_t pad_begin(const Deconv& op, size_t axis, int64_t window, int64_t stride, int64_t large,
                  int64_t small) {
  if (op.pad_mode == PadMode::kExplicit && op.output_shape.empty())
    return axis_or(op.pads_begin, axis, 0);
  const int64_t full = (small - 1) * stride + axis_or(op.output_padding, axis, 0) + window;
  return pad_ahead(op.pad_mode, full - large);
}

/// `axes` are those of the model; a missing one is neutral.
template <class Op> Window window_of(const Op& op, const Convolution& c, size_t axes) {
  Window window;
  const auto& large = c.transposed ? c.y.extents : c.x.extents;
  const auto& small = c.transposed ? c.x.extents : c.y.extents;
  const size_t missing = large.size() - 2 - axes;
  for (size_t i = 0; i < large.size() - 2; ++i) {
    const bool real = i >= missing;
    const size_t axis = i - missing;
    const int64_t stride = real ? axis_or(op.strides, axis, 1) : 1;
    const int64_t dilation = real ? axis_or(op.dilations, axis, 1) : 1;
    const int64_t reach = (c.weights[2 + i] - 1) * dilation + 1;
    const int64_t begin = real ? pad_begin(op, axis, reach, stride, large[2 + i], small[2 + i]) : 0;
    const int64_t needed = (small[2 + i] - 1) * stride + reach;
    window.strides.push_back(stride);
    window.dilations.push_back(dilation);
    window.pads_begin.push_back(begin);
    window.pads_end.push_back(std::max<int64_t>(0, needed - large[2 + i] - begin));
  }
  return window;
}

Status check_operands(const Operand& x, const Operand& weights, const Operand& y) {
  if (weights.constant == nullptr) return unsupported("the weights are not constant");
  if (x.rank() < 3 || x.rank() > 5) return unsupported("{} axes", x.rank());
  if (weights.type != x.type)
    return unsupported("weights of {} with an input of {}", name_of(weights.type), name_of(x.type));
  if (y.type != x.type)
    return unsupported("a result of {} from {}", name_of(y.type), name_of(x.type));
  for (const Operand* operand : {&x, &y})
    if (operand->count() == 0) return unsupported("no elements");
  return data_type(x.type).ok() ? Status{} : Status(data_type(x.type).error());
}

Status describe_images(const Operand& x, const Operand& y, Convolution& c) {
  c.channels_last = pixel_stride(y).has_value();
  if (!c.channels_last && c.type != DataType::kFloat32)
    return unsupported("a channels-first image of 16-bit numbers");
  TENON_ASSIGN(c.y, image_shape(y, c.channels_last));
  auto image = image_shape(x, c.channels_last);
  c.x_fits = image.ok();
  c.x = image.ok() ? *image : any_shape(x);
  return {};
}

Status describe_steps(const Problem& problem, const AnchoredRegion& region, Convolution& c) {
  const int rank = problem.output().rank();
  const auto add = [&](const RegionStep& step) -> Status {
    Step described{step, {}, DataType::kFloat32};
    if (step.operand >= 0) {
      const Operand& operand = problem.input(step.operand);
      described.type = operand.type;
      TENON_TRY(data_type(operand.type).ok() ? Status{} : Status(data_type(operand.type).error()));
      TENON_ASSIGN(described.operand, operand_shape(operand, c, rank));
    }
    c.steps.push_back(std::move(described));
    return {};
  };
  if (region.anchor_inputs.size() > 2 && region.anchor_inputs[2] >= 0) {
    const int bias = region.anchor_inputs[2];
    const Operand& operand = problem.input(bias);
    if (!operand.dense()) return unsupported("a bias with gaps");
    Step step{{PointwiseFunction::k_add, 0, 0, bias}, {}, operand.type};
    step.operand.extents.assign(c.y.extents.size(), 1);
    step.operand.extents[1] = operand.count();
    step.operand.strides = pixel_strides(step.operand.extents, operand.count());
    step.operand.alignment = alignment_of(operand);
    c.steps.push_back(std::move(step));
  }
  for (const RegionStep& step : region.steps) TENON_TRY(add(step));
  return {};
}

/// Copies weights into [K][taps][channels], or leaves them [K][channels][taps], element by element.
template <class T>
void order_weights(const T* from, T* to, int64_t filters, int64_t channels, int64_t taps,
                   bool channels_last) {
  for (int64_t k = 0; k < filters; ++k)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t t = 0; t < taps; ++t)
        to[channels_last ? (k * taps + t) * channels + c : (k * channels + c) * taps + t] = *from++;
}

/// The same with taps of fold x fold neighbours side by side as channels, the rest zero.
template <class T>
void fold_weights(const T* from, T* to, const std::vector<int64_t>& w, const Packing& packing) {
  const int64_t fold = packing.fold;
  const int64_t rows = ceil_div(w[2], fold), columns = ceil_div(w[3], fold);
  std::fill_n(to, w[0] * rows * columns * packing.channels, T{});
  for (int64_t k = 0; k < w[0]; ++k)
    for (int64_t c = 0; c < w[1]; ++c)
      for (int64_t r = 0; r < w[2]; ++r)
        for (int64_t s = 0; s < w[3]; ++s) {
          const int64_t pixel = (k * rows + r / fold) * columns + s / fold;
          const int64_t channel = (r % fold * fold + s % fold) * w[1] + c;
          to[pixel * packing.channels + channel] = *from++;
        }
}

}  // namespace

Result<Convolution> describe_convolution(const Problem& problem) {
  TENON_ASSIGN(AnchoredRegion region, anchored_region(problem));
  const auto* conv = region.anchor.as<Conv>();
  const auto* deconv = region.anchor.as<Deconv>();
  if (conv == nullptr && deconv == nullptr) return unsupported("not a convolution");
  Convolution c;
  c.x_input = region.anchor_inputs[0], c.weights_input = region.anchor_inputs[1];
  const Operand &x = problem.input(c.x_input), &weights = problem.input(c.weights_input);
  TENON_TRY(check_operands(x, weights, problem.output()));
  c.type = x.type;
  c.transposed = deconv != nullptr;
  c.groups = conv ? conv->groups : deconv->groups;
  c.allow_tf32 = problem.numerics.tf32;
  c.weights = image_extents(weights.extents, weights.rank());
  TENON_TRY(describe_images(x, problem.output(), c));
  const auto axes = static_cast<size_t>(x.rank()) - 2;
  c.window = conv ? window_of(*conv, c, axes) : window_of(*deconv, c, axes);
  TENON_TRY(describe_steps(problem, region, c));
  return c;
}

std::vector<Packing> packings_of(const Convolution& c) {
  const int64_t unit = 16 / byte_size(c.type);  // Tensor cores load 16 bytes of channels.
  const int64_t channels = c.x.extents[1];
  if (!c.channels_last) return c.x_fits ? std::vector<Packing>{{}} : std::vector<Packing>{};
  if (c.x_fits && c.weights[1] % unit == 0) return {{}};
  std::vector<Packing> packings;
  const auto one = [](int64_t value) { return value == 1; };
  const bool plain = c.groups == 1 && !c.transposed && c.x.extents.size() == 4 &&
                     std::all_of(c.window.dilations.begin(), c.window.dilations.end(), one);
  const auto rounded = [&](int64_t count) { return round_up(count, unit); };
  const int64_t stride = c.window.strides[0];
  const bool fills_stride = c.weights[2] == stride && c.weights[3] == stride;
  if (plain && stride > 1 && stride == c.window.strides[1] &&
      (channels * stride * stride <= kMaxFolded || fills_stride))
    packings.push_back({stride, rounded(channels * stride * stride)});
  if (plain) packings.push_back({1, rounded(channels)});
  if (c.x_fits) packings.push_back({});
  return packings;
}

Convolution packed(const Convolution& convolution, const Packing& packing) {
  if (packing.fold == 0) return convolution;
  Convolution c = convolution;
  c.weights[1] = c.x.extents[1] = packing.channels;
  for (size_t i = 2; i < c.weights.size(); ++i) {
    c.weights[i] = (convolution.weights[i] + packing.fold - 1) / packing.fold;
    const int64_t stride = convolution.window.strides[i - 2] / packing.fold;
    c.window.strides[i - 2] = stride;
    c.window.pads_begin[i - 2] = c.window.pads_end[i - 2] = 0;
    c.x.extents[i] = (c.y.extents[i] - 1) * stride + c.weights[i];
  }
  c.x.strides = pixel_strides(c.x.extents, packing.channels);
  c.x.alignment = 16;
  return c;
}

Tensor packed_weights(const Convolution& c, const Packing& packing, const Tensor& weights) {
  if (packing.fold > 0) {
    const Convolution result = packed(c, packing);
    Tensor tensor(weights.type(), result.weights);
    if (byte_size(c.type) == 2)
      fold_weights(weights.values<uint16_t>().data(), tensor.mutable_values<uint16_t>().data(),
                   c.weights, packing);
    else
      fold_weights(weights.values<uint32_t>().data(), tensor.mutable_values<uint32_t>().data(),
                   c.weights, packing);
    return tensor;
  }
  Tensor tensor(weights.type(), c.weights);
  const int64_t taps = tensor.count() / (c.weights[0] * c.weights[1]);
  if (byte_size(c.type) == 2)
    order_weights(weights.values<uint16_t>().data(), tensor.mutable_values<uint16_t>().data(),
                  c.weights[0], c.weights[1], taps, c.channels_last);
  else
    order_weights(weights.values<uint32_t>().data(), tensor.mutable_values<uint32_t>().data(),
                  c.weights[0], c.weights[1], taps, c.channels_last);
  return tensor;
}

}  // namespace tenon::cudnn
