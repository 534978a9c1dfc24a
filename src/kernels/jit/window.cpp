#include "kernels/jit/window.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/nn_window.h"

namespace tenon {
Result<DeviceWindow> device_window(const Extents& input, const Extents& output,
                                   const std::vector<int64_t>& kernel,
                                   const std::vector<int64_t>& strides,
                                   const std::vector<int64_t>& dilations,
                                   const std::vector<int64_t>& begin,
                                   const std::vector<int64_t>& end, PadMode mode) {
  if (input.size() < 3 || input.size() > 5 || output.size() != input.size())
    return unsupported("{} axes", input.size());
  DeviceWindow w;
  const size_t axes = input.size() - 2;
  for (size_t i = 0; i < axes; ++i) {
    const size_t to = 3 - axes + i;
    w.input[to] = input[2 + i];
    w.output[to] = output[2 + i];
    w.kernel[to] = kernel[i];
    w.stride[to] = axis_or(strides, i, 1);
    w.dilation[to] = axis_or(dilations, i, 1);
    w.begin[to] = axis_or(begin, i, 0);
    w.end[to] = axis_or(end, i, 0);
    if (mode == PadMode::kExplicit) continue;
    const int64_t reach = (w.kernel[to] - 1) * w.dilation[to] + 1;
    const int64_t total =
        std::max<int64_t>(0, (w.output[to] - 1) * w.stride[to] + reach - w.input[to]);
    w.begin[to] = pad_ahead(mode, total);
    w.end[to] = total - w.begin[to];
  }
  return w;
}

void add_window(KernelCode& code, const DeviceWindow& w) {
  // Put together once: a new shape waits for the code of each of its kernels.
  static constexpr std::string_view kNames[3][7] = {
      {"kIn0", "kOut0", "kKernel0", "kStride0", "kDilation0", "kBegin0", "kEnd0"},
      {"kIn1", "kOut1", "kKernel1", "kStride1", "kDilation1", "kBegin1", "kEnd1"},
      {"kIn2", "kOut2", "kKernel2", "kStride2", "kDilation2", "kBegin2", "kEnd2"}};
  for (size_t i = 0; i < 3; ++i) {
    const int64_t values[] = {w.input[i],    w.output[i], w.kernel[i], w.stride[i],
                              w.dilation[i], w.begin[i],  w.end[i]};
    for (size_t j = 0; j < std::size(values); ++j) code.constant(kNames[i][j], values[j]);
  }
}

void add_image_strides(KernelCode& code, std::string_view name, const Operand& operand) {
  const std::vector<int64_t> strides = strides_of(operand);
  const auto add = [&](char letter, int64_t value) {
    code.constant(std::string(name) + letter, value);
  };
  add('N', strides[0]);
  add('C', strides[1]);
  const size_t axes = strides.size() - 2;
  for (size_t i = 0; i < 3; ++i)
    add(static_cast<char>('0' + i), i + axes < 3 ? 0 : strides[2 + i + axes - 3]);
}

void add_output_coordinates(KernelCode& code, const Operand& output) {
  code.text(
      "struct OutputPlace {\n  Index image;\n  int channel, place0, place1, place2;\n};\n"
      "__device__ inline OutputPlace locate_output(Index at) {\n  OutputPlace p;\n");
  std::string text;
  const auto take = [&](const char* member, int64_t extent) {
    text += fmt::format("  p.{} = at % {}u;\n  at /= {}u;\n", member, extent, extent);
  };
  const int rank = output.rank();
  const std::vector<int> order = memory_order(rank, output.layout);
  for (size_t i = order.size(); i-- > 0;) {
    const int axis = order[i];
    if (axis == 0) text += "  p.image = at;\n";
    if (axis == 1) take("channel", output.extents[1]);
    if (axis >= 2) take(fmt::format("place{}", axis + 3 - rank).c_str(), output.extents[axis]);
  }
  for (int i = 0; i < 5 - rank; ++i) text += fmt::format("  p.place{} = 0;\n", i);
  code.text(text + "  return p;\n}\n");
}

}  // namespace tenon
