// First convolutions of images on tensor cores, by a kernel of our own that reads them where they
// lie.
#include <algorithm>

#include "kernels/conv/device_convolution_cuda.h"
#include "kernels/image.h"

namespace tenon::tactics::cuda_conv_stem {
namespace {

constexpr int64_t kColumns = 16;  ///< Of a tile of the result.

std::vector<std::string> tile_configs(const Problem&) {
  return {"rows=8,warps=4", "rows=16,warps=4", "rows=16,warps=8", "rows=4,warps=4"};
}

/// How a kernel row is filled up.
struct Taps {
  int64_t front = 0;  ///< Zeros in front, so that a tile begins at an even place.
  int64_t count = 4;  ///< A multiple of 4: 16 elements of depth.
  int64_t delta = 0;  ///< Pixels from a place that is a multiple of 8 to the first tap.
  int64_t shift = 0;  ///< From there to the tile's first place times the stride.

  Taps(int64_t kernel, int64_t begin) {
    front = begin % 2;
    count = blocks_for(kernel + front, 4) * 4;
    shift = blocks_for(begin + front, 8) * 8;
    delta = shift - begin - front;
  }
};

/// [out][kernel rows][taps.count][4].
JitConstant packed_weights(const Tensor& weights, const Taps& taps) {
  const auto make = [weights, taps] {
    const Extents& e = weights.extents();
    std::vector<std::byte> bytes(static_cast<size_t>(e[0] * e[2] * taps.count * 8));
    auto* to = reinterpret_cast<uint16_t*>(bytes.data());
    const auto* from = reinterpret_cast<const uint16_t*>(weights.bytes());
    for (int64_t n = 0; n < e[0]; ++n)
      for (int64_t c = 0; c < e[1]; ++c)
        for (int64_t r = 0; r < e[2]; ++r)
          for (int64_t s = 0; s < e[3]; ++s)
            to[((n * e[2] + r) * taps.count + taps.front + s) * 4 + c] = *from++;
    return bytes;
  };
  return {make, weights, fmt::format("conv.stem: {} taps from {}", taps.count, taps.front)};
}

/// Eight pixels of a row are whole 16 bytes of each plane, or of all channels together.
bool has_vectors(const Operand& x, bool planes) {
  const std::vector<int64_t> strides = strides_of(x);
  const int64_t pixel = planes ? 1 : x.extents[1];
  const auto whole = [](int64_t value) { return value % 8 == 0; };
  return strides[3] == pixel && strides[1] == (planes ? strides[1] : 1) && whole(strides[2]) &&
         whole(strides[0]) && (!planes || whole(strides[1])) && whole(x.extents[3]) &&
         whole(alignment_in_elements(x));
}

Status check(const Problem& problem, const DeviceConvolution& d) {
  const Operand &x = problem.input(d.input), &w = problem.input(d.weights), &y = problem.output();
  if (d.transposed || d.groups != 1) return unsupported("groups, or transposed");
  if (x.rank() != 4 || d.in_channels > 4) return unsupported("more than four channels");
  if (w.constant == nullptr) return unsupported("the weights are not constant");
  if (byte_size(x.type) != 2 || !is_real(x.type) || x.type != w.type || x.type != y.type)
    return unsupported("{} by {} to {}; takes f16 or bf16 for all", name_of(x.type),
                       name_of(w.type), name_of(y.type));
  if (d.window.dilation[1] != 1 || d.window.dilation[2] != 1) return unsupported("dilations");
  if (d.window.begin[2] < 0) return unsupported("an image that is cropped");
  if (!pixel_stride(y)) return unsupported("not channels-last");
  if (d.out_channels % 16 != 0 || d.out_channels > 64)
    return unsupported("channels of the result are not 16, 32, 48 or 64");
  if (d.window.kernel[1] > 7 || d.window.kernel[2] > 7)
    return unsupported("a kernel of {}x{}; takes 7x7", d.window.kernel[1], d.window.kernel[2]);
  if (!small_indices(problem)) return unsupported("a tensor beyond 2^31 elements");
  return {};
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const DeviceConvolution d, describe_device_convolution(problem));
  TENON_TRY(check(problem, d));
  const Operand &x = problem.input(d.input), &y = problem.output();
  const Taps taps(d.window.kernel[2], d.window.begin[2]);
  const int64_t rows = config_number(config, "rows").value_or(8);
  const int64_t warps = config_number(config, "warps").value_or(4);
  KernelCode code = begin_code(problem);
  code.types("X Y", x.type, y.type);
  code.round_to(y.type);
  add_window(code, d.window);
  add_image_strides(code, "X", x);
  code.open("kImages", y.extents[0]);
  code.constants("kC kN kRows kWarps", d.in_channels, d.out_channels, rows, warps);
  code.constants("kBlock kTaps", warps * 32, taps.count);
  const int64_t copies = 1 + d.window.stride[2] % 2;
  code.constants("kCopies kDelta kShift", copies, taps.delta, taps.shift);
  code.flags("kVectorPlanes kVectorPixels", has_vectors(x, true), has_vectors(x, false));
  code.matrix_type(x.type);
  const IndexLoop loop = memory_loop(y);
  code.located("YAt", loop, y);
  TENON_ASSIGN(const std::vector<int> operands,
               add_epilogue(code, problem, d.region, loop, d.bias));
  const int64_t weights = d.out_channels * (d.window.kernel[1] * taps.count * 4 + 8) * 2;
  const int64_t patch_rows = (rows - 1) * d.window.stride[1] + d.window.kernel[1];
  const int64_t patch_columns =
      blocks_for((kColumns - 1) * d.window.stride[2] + taps.count + taps.delta, 8) * 8;
  const int64_t shared = weights + copies * patch_rows * patch_columns * 8 +
                         warps * kColumns * (d.out_channels + 8) * 4;
  const int64_t tiles = y.extents[0] * blocks_for(d.window.output[1], rows) *
                        blocks_for(d.window.output[2], kColumns);
  const int64_t resident = multiprocessors(problem) * std::max<int64_t>(1, 16 / warps);
  TENON_ASSIGN(JitLaunch launch, make_launch(code, {"jit/matrix.cuh", "conv/stem.cu"},
                                             std::min(tiles, resident), warps * 32));
  launch.starts_early = false;
  launch.shared_bytes = static_cast<int>(shared);
  launch.add({JitArgument::input(d.input), JitArgument::constant(0), JitArgument::output()});
  launch.add_inputs(operands);
  JitPlan plan = plan_of(std::move(launch));
  plan.constants.push_back(packed_weights(*problem.input(d.weights).constant, taps));
  return plan;
}

}  // namespace
}  // namespace tenon::tactics::cuda_conv_stem

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_conv_stem, cuda_conv_stem::tile_configs)
}  // namespace tenon::tactics
