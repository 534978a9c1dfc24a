// First convolutions of images of bytes on tensor cores (quantized/stem.cu), which read them where
// they lie, and round reals that the region quantizes.
#include <algorithm>
#include <cstring>

#include "kernels/image.h"
#include "kernels/jit/hopper.h"
#include "kernels/jit/quotient.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "kernels/quantized/device_region_cuda.h"

namespace tenon::tactics::cuda_quantized_stem {
namespace {

constexpr int64_t kColumns = 16, kVector = 8;  ///< As in quantized/stem.cu.
constexpr int64_t kMostTaps = 64, kMostShared = 48 * 1024;

/// Columns that threads share out, a run of a quarter each.
int64_t slab_of(const DeviceQuantized& d) {
  return d.columns % 64 == 0 ? 64 : d.columns % 32 == 0 ? 32 : 16;
}

/// Words of a column's weights: an odd multiple of 8, so that those of eight columns lie in
/// different banks.
int64_t words_of_column(const DeviceQuantized& d) {
  return (blocks_for(d.taps(), 8) | 1) * 8;
}

/// Taps t and t + 4 of eight lie beside each other.
std::function<std::vector<std::byte>()> words_of(const Problem& problem, const DeviceQuantized& d) {
  const int64_t words = words_of_column(d);
  return [packed = packed_weights(problem, d, {words * 4, 4, slab_of(d)})] {
    const std::vector<std::byte> from = packed();
    std::vector<std::byte> to(from.size());
    for (size_t word = 0; word < from.size() / 4; ++word) {
      const size_t tap = word % 8, place = word - tap + tap % 4 * 2 + tap / 4;
      std::memcpy(to.data() + place * 4, from.data() + word * 4, 4);
    }
    return to;
  };
}

/// Panels of 128 bytes of a column's taps, where warp groups multiply.
int64_t panels_of(const DeviceQuantized& d) {
  return blocks_for(d.taps(), 32);
}

/// As products of warp groups take them: [panel][column][128], pieces of 16 bytes swizzled.
std::function<std::vector<std::byte>()> panels_of_columns(const Problem& problem,
                                                          const DeviceQuantized& d) {
  const int64_t panels = panels_of(d), columns = d.columns;
  return [packed = packed_weights(problem, d, {panels * 128, 4, slab_of(d)}), panels, columns] {
    const std::vector<std::byte> from = packed();
    std::vector<std::byte> to(from.size());
    for (int64_t n = 0; n < columns; ++n)
      for (int64_t piece = 0; piece < panels * 8; ++piece) {
        const int64_t row = piece / 8 * columns + n, place = (piece % 8) ^ (n % 8);
        std::memcpy(to.data() + (row * 8 + place) * 16, from.data() + (n * panels * 8 + piece) * 16,
                    16);
      }
    return to;
  };
}

/// Whether the GPU's warp groups multiply such bytes.
bool takes_groups(const Problem& problem, const DeviceQuantized& d) {
  return capability_of(problem) == 90 && is_integer(problem.input(d.region.x).type);
}

/// Eight pixels of a row are whole 8 bytes of each plane.
bool has_vectors(const Operand& x) {
  const std::vector<int64_t> strides = strides_of(x);
  const auto whole = [](int64_t value) { return value % kVector == 0; };
  const int64_t bytes = std::min<int64_t>(kVector * byte_size(x.type), 16);
  return strides[3] == 1 && whole(strides[2]) && whole(strides[1]) && whole(strides[0]) &&
         whole(x.extents[3]) && x.alignment % bytes == 0;
}

/// The problem as if its image were quantized already.
Result<Problem> with_bytes(const Problem& problem) {
  TENON_ASSIGN(const QuantizedRegion region, quantized_region(problem));
  Problem bytes = problem;
  if (!region.rounded_x) return bytes;
  const DataType type = problem.input(region.x).type;
  if (type != DataType::kFloat32 && type != DataType::kFloat16 && type != DataType::kBFloat16)
    return unsupported("an image of {}", name_of(type));
  bytes.inputs[static_cast<size_t>(region.x)].type = *region.rounded_x;
  return bytes;
}

Status check(const Problem& problem, const DeviceQuantized& d) {
  TENON_TRY(check_byte_product(problem, d));
  if (!d.is_convolution || problem.input(d.region.x).rank() != 4 || d.channels > 4)
    return unsupported("not an image of up to four channels");
  if (d.taps() > kMostTaps) return unsupported("{} taps; takes {}", d.taps(), kMostTaps);
  if (d.window.begin[2] < 0) return unsupported("an image that is cropped");
  if (!pixel_stride(problem.output())) return unsupported("not channels-last");
  if (d.columns % 16 != 0 || d.columns > 64)
    return unsupported("channels of the result are not 16, 32, 48 or 64");
  if (!small_indices(problem)) return unsupported("a tensor beyond 2^31 elements");
  return {};
}

struct Shape {
  int64_t rows = 8, warps = 4;
  bool groups = false;  ///< Warp groups multiply.
  int64_t each = 0;     ///< Blocks of a multiprocessor.

  explicit Shape(std::string_view config)
      : rows(config_number(config, "rows").value_or(4)),
        warps(config_number(config, "warps").value_or(4)),
        groups(config_number(config, "groups").value_or(0) != 0),
        each(config_number(config, "each").value_or(16 / warps)) {}
  int64_t words_of_column(const DeviceQuantized& d) const {
    return groups ? panels_of(d) * 32 : cuda_quantized_stem::words_of_column(d);
  }
  int64_t shared_bytes(const DeviceQuantized& d) const {
    const DeviceWindow& w = d.window;
    const int64_t shift = blocks_for(w.begin[2], kVector) * kVector;
    const int64_t reach =
        (kColumns - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1 + shift - w.begin[2];
    const int64_t down = (rows - 1) * w.stride[1] + (w.kernel[1] - 1) * w.dilation[1] + 1;
    return (d.columns * words_of_column(d) + 2 * down * blocks_for(reach, kVector) * kVector) * 4 +
           (groups ? 1024 : 0);
  }
};

std::vector<std::string> tile_configs(const Problem& problem) {
  std::vector<std::string> configs = {"rows=16,warps=4", "rows=32,warps=8", "rows=8,warps=4",
                                      "rows=16,warps=8", "rows=4,warps=4"};
  const auto bytes = with_bytes(problem);
  if (!bytes.ok()) return {"rows=4,warps=4"};
  const auto d = describe_device_quantized(*bytes);
  if (d.ok() && takes_groups(*bytes, *d))
    for (const char* config : {"rows=8,warps=4,groups=1,each=3", "rows=16,warps=4,groups=1,each=2",
                               "rows=4,warps=4,groups=1,each=4"})
      configs.emplace_back(config);
  if (d.ok())
    std::erase_if(configs, [&](const std::string& config) {
      return Shape(config).shared_bytes(*d) > kMostShared;
    });
  return configs.empty() ? std::vector<std::string>{"rows=4,warps=4"} : configs;
}

/// Type of the image, and image_byte(), which rounds one of its reals.
Status add_image(KernelCode& code, const Problem& problem, const DeviceQuantized& d) {
  const QuantizedRegion& region = d.region;
  code.text(fmt::format("#define ROUNDS_IMAGE {}\n", region.rounded_x ? 1 : 0));
  code.alias("Pixel", region.rounded_x ? device_type(problem.input(region.x).type) : "u8");
  if (!region.rounded_x) return {};
  const double scale = problem.input(region.x_scaling.scale).constant->as_double(0);
  const std::string quantized =
      quantized_expression("v", *region.rounded_x, scale, static_cast<double>(d.zero));
  // Bits of a sum with a number whose last place is 1 are the integer's.
  code.text(fmt::format("__device__ inline u32 image_byte(float v) {{ return {}; }}\n",
                        is_integer(*region.rounded_x)
                            ? fmt::format("__float_as_uint({} + 12582912.0f)", quantized)
                            : fmt::format("byte_pair({}(), {}, 0.0f)",
                                          quantized_type_name(*region.rounded_x), quantized)));
  return {};
}

void add_constants(KernelCode& code, const Problem& problem, const DeviceQuantized& d,
                   const Shape& shape) {
  const Operand &x = problem.input(d.region.x), &y = problem.output();
  const bool real = is_float8(x.type);
  code.alias("Y", quantized_type_name(y.type));
  code.alias("Word", word_type(byte_size(y.type)));
  code.alias("Accumulator", real ? "f32" : "i32");
  code.round_to(y.type);
  code.located("YAt", d.loop, y);
  add_window(code, d.window);
  add_image_strides(code, "X", x);
  code.open("kImages", y.extents[0]);
  code.constant("kC", d.channels);
  code.constant("kN", d.columns);
  code.constant("kSlab", slab_of(d));
  code.constant("kPitchB", shape.words_of_column(d));
  code.text(fmt::format("#define GROUP_PRODUCTS {}\n", shape.groups ? 1 : 0));
  code.constant("kZero", d.zero);
  code.constant("kRows", shape.rows);
  code.constant("kWarps", shape.warps);
  code.constant("kBlock", shape.warps * 32);
  if (shape.groups) code.constant("kBlocksEach", shape.each);
  code.flag("kSmallSums", has_small_sums(problem, d));
}

Result<JitPlan> plan(const Problem& whole, std::string_view config) {
  TENON_ASSIGN(const Problem problem, with_bytes(whole));
  TENON_ASSIGN(const DeviceQuantized d, describe_device_quantized(problem));
  TENON_TRY(check(problem, d));
  const Shape shape(config);
  if (shape.shared_bytes(d) > kMostShared) return unsupported("a patch that is too large");
  if (shape.groups && (!takes_groups(problem, d) || shape.warps % 4 != 0 || shape.each < 1))
    return user_error("no tiling: {}", config);
  KernelCode code;
  TENON_TRY(begin_byte_code(code, problem, d));
  TENON_TRY(add_image(code, whole, d));
  code.flag("kVectorPlanes", has_vectors(whole.input(d.region.x)));
  add_constants(code, problem, d, shape);
  if (shape.groups) {
    add_group_product(code, "group_product",
                      {.columns = static_cast<int>(d.columns),
                       .a = matrix_type_name(problem.input(d.region.x).type),
                       .a_in_registers = true});
  } else {
    add_byte_product(code, problem, d);
  }
  TENON_ASSIGN(const std::vector<int> operands, add_quantized_epilogue(code, problem, d));
  JitLaunch launch;
  TENON_TRY(set_source(launch, code,
                       {shape.groups ? "jit/hopper.cuh" : "jit/pairs.cuh", "quantized/run.cu",
                        "quantized/stem.cu"}));
  const int64_t tiles = problem.output().extents[0] * blocks_for(d.window.output[1], shape.rows) *
                        blocks_for(d.window.output[2], kColumns);
  launch.grid[0] = std::min(tiles, multiprocessors(problem) * shape.each);
  launch.block[0] = static_cast<int>(shape.warps * 32);
  launch.shared_bytes = static_cast<int>(shape.shared_bytes(d));
  return quantized_plan(std::move(launch), problem, d,
                        shape.groups ? panels_of_columns(problem, d) : words_of(problem, d),
                        operands);
}

}  // namespace
}  // namespace tenon::tactics::cuda_quantized_stem

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_quantized_stem, cuda_quantized_stem::tile_configs)
}  // namespace tenon::tactics
