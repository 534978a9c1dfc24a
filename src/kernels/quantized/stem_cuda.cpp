// First convolutions of images of bytes on tensor cores (quantized/stem.cu), which read them where
// they lie, and round reals that the region quantizes.
#include <algorithm>
#include <cstring>

#include "kernels/jit/hopper.h"
#include "kernels/jit/sources.h"
#include "kernels/jit/tactic.h"
#include "kernels/quantized/stem_image_cuda.h"

namespace tenon::tactics::cuda_quantized_stem {
namespace {

constexpr int64_t kColumns = 16, kVector = 8;  ///< As in quantized/stem.cu.
constexpr int64_t kMostShared = 48 * 1024;

/// Words of a column's weights: an odd multiple of 8, so that those of eight columns lie in
/// different banks.
int64_t words_of_column(const DeviceQuantized& d) {
  return (blocks_for(d.taps(), 8) | 1) * 8;
}

/// Taps t and t + 4 of eight lie beside each other.
std::function<std::vector<std::byte>()> words_of(const Problem& problem, const DeviceQuantized& d) {
  const int64_t words = words_of_column(d);
  return [packed = packed_weights(problem, d, {words * 4, 4, stem_slab(d)}).make] {
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

/// Whether the GPU's warp groups multiply such bytes.
bool takes_groups(const Problem& problem, const DeviceQuantized& d) {
  return capability_of(problem) == 90 && is_integer(problem.input(d.region.x).type);
}

/// As products of warp groups take them.
std::function<std::vector<std::byte>()> panels_of_columns(const Problem& problem,
                                                          const DeviceQuantized& d) {
  return [packed = packed_weights(problem, d, {panels_of(d) * 128, 4, stem_slab(d)}).make,
          columns = d.columns] { return stem_panels(packed(), columns); };
}

/// The problem as if its image were quantized already.
Result<Problem> with_bytes(const Problem& problem) {
  TENON_ASSIGN(const QuantizedRegion region, quantized_region(problem));
  return tenon::with_bytes(problem, region);
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

void add_constants(KernelCode& code, const Problem& problem, const DeviceQuantized& d,
                   const Shape& shape) {
  code.alias("Accumulator", is_float8(problem.input(d.region.x).type) ? "f32" : "i32");
  add_stem_constants(code, problem, d, problem.output());
  code.constant("kPitchB", shape.words_of_column(d));
  code.text(fmt::format("#define GROUP_PRODUCTS {}\n", shape.groups ? 1 : 0));
  code.constant("kRows", shape.rows);
  code.constant("kWarps", shape.warps);
  code.constant("kBlock", shape.warps * 32);
  if (shape.groups) code.constant("kBlocksEach", shape.each);
}

Result<JitPlan> plan(const Problem& whole, std::string_view config) {
  TENON_ASSIGN(const Problem problem, with_bytes(whole));
  TENON_ASSIGN(const DeviceQuantized d, describe_device_quantized(problem));
  TENON_TRY(check_stem(problem, d));
  const Shape shape(config);
  if (shape.shared_bytes(d) > kMostShared) return unsupported("a patch that is too large");
  if (shape.groups && (!takes_groups(problem, d) || shape.warps % 4 != 0 || shape.each < 1))
    return user_error("no tiling: {}", config);
  TENON_ASSIGN(KernelCode code, begin_byte_code(problem, d));
  add_stem_image(code, whole, d, kVector);
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
  const int64_t tiles = problem.output().extents[0] * blocks_for(d.window.output[1], shape.rows) *
                        blocks_for(d.window.output[2], kColumns);
  TENON_ASSIGN(
      JitLaunch launch,
      make_launch(code,
                  {shape.groups ? "jit/hopper.cuh" : "jit/pairs.cuh", "quantized/run.cu",
                   "quantized/stem_image.cu", "quantized/stem.cu"},
                  std::min(tiles, multiprocessors(problem) * shape.each), shape.warps * 32));
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
