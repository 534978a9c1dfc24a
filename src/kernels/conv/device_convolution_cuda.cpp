#include "kernels/conv/device_convolution_cuda.h"

#include <algorithm>
#include <cstring>

#include "ops/nn_window.h"

namespace tenon {
namespace {

template <class O>
Result<DeviceWindow> window_of(const O& op, const Operand& x, const Operand& w, const Operand& y) {
  const std::vector<int64_t> kernel(w.extents.begin() + 2, w.extents.end());
  return device_window(x.extents, y.extents, kernel, op.strides, op.dilations, op.pads_begin,
                       op.pads_end, op.pad_mode);
}

/// Pads of a transposed convolution that follow from its output's extents.
void derive_pads(const Deconv& op, DeviceWindow& w, size_t axes) {
  if (op.pad_mode == PadMode::kExplicit && op.output_shape.empty()) return;
  for (size_t to = 3 - axes; to < 3; ++to) {
    const int64_t more = axis_or(op.output_padding, to + axes - 3, 0);
    const int64_t full =
        (w.input[to] - 1) * w.stride[to] + more + (w.kernel[to] - 1) * w.dilation[to] + 1;
    w.begin[to] = pad_ahead(op.pad_mode, full - w.output[to]);
  }
}

}  // namespace

Result<DeviceConvolution> describe_device_convolution(const Problem& problem, bool quantized) {
  DeviceConvolution d;
  TENON_ASSIGN(d.region, anchored_region(problem, {.branches = true, .quantized = quantized}));
  const auto* conv = d.region.anchor.as<Conv>();
  const auto* deconv = d.region.anchor.as<Deconv>();
  if (conv == nullptr && deconv == nullptr) return unsupported("not a convolution");
  d.input = d.region.anchor_inputs[0];
  d.weights = d.region.anchor_inputs[1];
  const Operand &x = problem.input(d.input), &w = problem.input(d.weights), &y = problem.output();
  for (const Operand* operand : {&x, &w, &y})
    if (device_type(operand->type) == nullptr && (operand != &y || d.region.quantize == nullptr))
      return unsupported("type {}", name_of(operand->type));
  d.transposed = deconv != nullptr;
  d.groups = conv != nullptr ? conv->groups : deconv->groups;
  d.in_channels = x.extents[1];
  d.out_channels = d.transposed ? w.extents[1] * d.groups : w.extents[0];
  if (y.rank() != x.rank() || y.extents[0] != x.extents[0] || y.extents[1] != d.out_channels)
    return unsupported("the epilogue broadcasts");
  if (conv != nullptr) {
    TENON_ASSIGN(d.window, window_of(*conv, x, w, y));
  } else {
    // The SAME modes mean something else here.
    Deconv plain = *deconv;
    plain.pad_mode = PadMode::kExplicit;
    TENON_ASSIGN(d.window, window_of(plain, x, w, y));
    derive_pads(*deconv, d.window, x.extents.size() - 2);
  }
  const int bias = d.region.anchor_inputs.size() > 2 ? d.region.anchor_inputs[2] : -1;
  if (bias < 0) return d;
  std::vector<int64_t> strides(y.extents.size(), 0);
  strides[1] = strides_of(problem.input(bias))[0];
  d.bias.push_back({PointwiseFunction::k_add, bias, std::move(strides)});
  return d;
}

JitConstant reordered_weights(const Tensor& weights, Extents extents,
                              std::vector<int64_t> strides) {
  std::string recipe =
      fmt::format("reordered: {} by {}", fmt::join(extents, "x"), fmt::join(strides, ","));
  const auto make = [weights, extents = std::move(extents), strides = std::move(strides)] {
    const size_t size = static_cast<size_t>(byte_size(weights.type()));
    std::vector<std::byte> bytes(static_cast<size_t>(element_count(extents)) * size);
    Extents at(extents.size(), 0);
    for (size_t to = 0; to < bytes.size(); to += size) {
      int64_t from = 0;
      for (size_t i = 0; i < at.size(); ++i) from += at[i] * strides[i];
      std::memcpy(bytes.data() + to, weights.bytes() + static_cast<size_t>(from) * size, size);
      for (size_t i = at.size(); i-- > 0;) {
        if (++at[i] < extents[i]) break;
        at[i] = 0;
      }
    }
    return bytes;
  };
  return {make, weights, std::move(recipe)};
}

}  // namespace tenon
