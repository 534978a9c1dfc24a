#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "kernels/jit/kernel_code.h"
#include "ops/nn.h"

namespace tenon {

/// A window over up to three spatial axes (depth, height, width); missing axes have extent 1.
struct DeviceWindow {
  int64_t input[3] = {1, 1, 1}, output[3] = {1, 1, 1}, kernel[3] = {1, 1, 1};
  int64_t stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1}, begin[3] = {0, 0, 0}, end[3] = {0, 0, 0};
};

/// Whether all happens in one plane: the first of three axes has one place, on both sides.
inline bool is_planar(const DeviceWindow& w) {
  return w.input[0] == 1 && w.output[0] == 1 && w.kernel[0] == 1 && w.begin[0] == 0;
}

/// The attributes of a window operator over [N,C,...] tensors. The SAME modes derive their pads.
Result<DeviceWindow> device_window(const Extents& input, const Extents& output,
                                   const std::vector<int64_t>& kernel,
                                   const std::vector<int64_t>& strides,
                                   const std::vector<int64_t>& dilations,
                                   const std::vector<int64_t>& begin,
                                   const std::vector<int64_t>& end, PadMode mode);

/// Constants kIn0.., kOut0.., kKernel0.., kStride0.., kDilation0.., kBegin0.., kEnd0...
void add_window(KernelCode& code, const DeviceWindow& window);

/// Constants NameN, NameC, Name0, Name1, Name2: strides of a [N,C,...] tensor.
void add_image_strides(KernelCode& code, std::string_view name, const Operand& operand);

/// Coordinates of element `at` of a loop over an output in memory order: a device function
/// `locate_output(Index at)` giving image, channel and three places.
void add_output_coordinates(KernelCode& code, const Operand& output);

}  // namespace tenon
