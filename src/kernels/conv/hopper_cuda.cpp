// Convolutions of 16-bit floats as products on Hopper's TMA and tensor cores: the kernel of
// gemm/hopper.cu, whose rows of A TMA gathers from the image, pixels of the result that
// follow each other at a time.
#include <algorithm>

#include "kernels/conv/device_convolution_cuda.h"
#include "kernels/gemm/hopper_start_cuda.h"
#include "kernels/gemm/hopper_tiling_cuda.h"
#include "kernels/gemm/sparse_cuda.h"
#include "kernels/image.h"
#include "kernels/sparse_weights.h"

namespace tenon::tactics::cuda_conv_hopper {
namespace {

using namespace hopper;

constexpr size_t kOffered = 6;

int64_t taps_of(const DeviceConvolution& d) {
  return d.window.kernel[1] * d.window.kernel[2];
}

/// Channels of a row in shared memory: of shorter rows, two of which make a stage, where taps fill
/// more of those.
int64_t row_channels(const DeviceConvolution& d) {
  const int64_t rest = d.in_channels % kTileK;
  return taps_of(d) > 1 && rest > 0 && rest <= kTileK / 2 ? kTileK / 2 : kTileK;
}

/// Channels as they follow each other in k: whole rows for each tap.
int64_t padded(const DeviceConvolution& d, int64_t row) {
  return blocks_for(d.in_channels, row) * row;
}

ProductSizes sizes_of(const Problem& problem, const DeviceConvolution& d, int64_t row) {
  return {problem.output().extents[0] * d.window.output[1] * d.window.output[2], d.out_channels,
          taps_of(d) * padded(d, row)};
}

/// [channels, x, y, images] with boxes of a row's channels of `pixels` of the result.
JitTensorMap map_of(const Problem& problem, const DeviceConvolution& d, int64_t pixels,
                    int64_t row) {
  const Operand& x = problem.input(d.input);
  const std::vector<int64_t> strides = strides_of(x);
  JitTensorMap map{JitArgument::input(d.input),
                   x.type,
                   {x.extents[1], x.extents[3], x.extents[2], x.extents[0]},
                   {1, strides[3], strides[2], strides[0]},
                   {static_cast<int>(row), static_cast<int>(pixels)},
                   {},
                   static_cast<int>(row * 2)};
  const DeviceWindow& w = d.window;
  map.pixels = JitTensorMap::Pixels{
      {w.output[2], w.output[1]}, {-w.begin[2], -w.begin[1]}, {w.stride[2], w.stride[1]}};
  return map;
}

Status check(const Problem& problem, const DeviceConvolution& d) {
  const Operand &x = problem.input(d.input), &w = problem.input(d.weights), &y = problem.output();
  if (d.transposed || d.groups != 1) return unsupported("groups, or transposed");
  if (x.rank() != 4) return unsupported("not two axes");
  if (w.constant == nullptr) return unsupported("the weights are not constant");
  if (byte_size(x.type) != 2 || !is_real(x.type) || x.type != w.type || x.type != y.type)
    return unsupported("{} by {} to {}; takes f16 or bf16 for all", name_of(x.type),
                       name_of(w.type), name_of(y.type));
  if (!is_part_of_image(x) || !pixel_stride(y)) return unsupported("not channels-last");
  // Rows that are mostly empty. Columns may be: nothing else multiplies so few.
  const int64_t least = taps_of(d) > 1 ? 16 : 24;
  if (d.in_channels < least)
    return unsupported("{} channels; takes {} and more", d.in_channels, least);
  if (!small_indices(problem)) return unsupported("a tensor beyond 2^31 elements");
  for (const int axis : {1, 2})
    if ((d.window.kernel[axis] - 1) * d.window.dilation[axis] > UINT8_MAX)
      return unsupported("a kernel that reaches far");
  return check_map(map_of(problem, d, 64, kTileK), alignment_in_elements(x));
}

/// Those for few filters, whose tiles are fetched for longer than they are multiplied: of more
/// pixels, or, for several taps, with all weights in shared memory and groups that take turns.
std::vector<Tiling> tilings_of_few_columns(const DeviceConvolution& d, const ProductSizes& p) {
  std::vector<Tiling> all;
  const auto add = [&](int64_t parts, int64_t columns, int64_t turns, int64_t held) {
    const Tiling t{parts, columns, 1, 1, true, turns, 0, held};
    if (t.is_possible()) all.push_back(t);
  };
  for (const int64_t columns : {64, 32}) {
    if (p.n > 64 || (columns > 32 && p.n <= 32)) continue;
    for (const int64_t parts : {2, 3}) add(parts, columns, 1, 0);
    if (taps_of(d) > 1)
      for (const int64_t parts : {1, 2, 3}) add(parts, columns, 3, blocks_for(p.k, kTileK));
  }
  return all;
}

std::vector<std::string> tilings(const Problem& problem) {
  const auto d = describe_device_convolution(problem);
  if (!d.ok()) return {""};
  const ProductSizes p = sizes_of(problem, *d, row_channels(*d));
  std::vector<Tiling> all = plain_tilings();
  const std::vector<Tiling> few = tilings_of_few_columns(*d, p);
  all.insert(all.end(), few.begin(), few.end());
  std::vector<std::string> texts;
  for (const Tiling& t : best_tilings(all, p, multiprocessors(problem), kOffered))
    texts.push_back(t.text());
  return texts.empty() ? std::vector<std::string>{"m=64,n=64,splits=1,each=1,moves=1"} : texts;
}

/// Whether the weights lie in memory as the kernel reads them.
bool is_packed(const DeviceConvolution& d) {
  return taps_of(d) == 1 && padded(d, kTileK) == d.in_channels;
}

/// [out][taps][padded in], zeros where there is no channel.
JitConstant packed_weights(const Tensor& weights, int64_t taps, int64_t all) {
  const auto make = [weights, taps, all] {
    const int64_t filters = weights.extents()[0], channels = weights.extents()[1];
    std::vector<std::byte> bytes(static_cast<size_t>(filters * taps * all * 2));
    auto* to = reinterpret_cast<uint16_t*>(bytes.data());
    const auto* from = reinterpret_cast<const uint16_t*>(weights.bytes());
    for (int64_t f = 0; f < filters; ++f)
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t t = 0; t < taps; ++t) to[(f * taps + t) * all + c] = *from++;
    return bytes;
  };
  return {make, weights, fmt::format("conv.hopper: {} taps of {}", taps, all)};
}

/// The result in tiles of so many rows.
void add_result(KernelCode& code, const Problem& problem, const DeviceConvolution& d,
                const ProductSizes& p, int64_t rows) {
  const Operand& y = problem.output();
  code.type("Y", y.type);
  code.round_to(y.type);
  code.located("YAt", memory_loop(y), y);
  add_window(code, d.window);
  code.constant("kC", d.in_channels);
  code.open("kM", p.m);
  code.divider("DIVIDED_BY_TILES_M", "kTilesM", blocks_for(p.m, rows));
  code.whole_flag("kWholeTiles", p.m, y.extents[0], rows);
  code.constants("kN kK", p.n, p.k);
}

void add_constants(KernelCode& code, const Problem& problem, const DeviceConvolution& d,
                   const ProductSizes& p, const Tiling& t) {
  const Operand& y = problem.output();
  add_result(code, problem, d, p, t.rows());
  code.constant("kBatches", 1);
  for (const char* flag : {"kBBatched", "kAByColumns", "kBByColumns"}) code.flag(flag, false);
  code.flag("kBConstant", true);
  add_operand_type(code, {.bytes = 2, .row_bytes = row_channels(d) * 2});
  add_tiling(code, t);
  add_group_product(
      code, "group_product",
      {.columns = static_cast<int>(t.columns), .bf16 = y.type == DataType::kBFloat16});
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const DeviceConvolution d, describe_device_convolution(problem));
  TENON_TRY(check(problem, d));
  const int64_t row = row_channels(d);
  const ProductSizes p = sizes_of(problem, d, row);
  TENON_ASSIGN(const Tiling t, parse_tiling(config, p));
  KernelCode code = begin_code(problem);
  add_constants(code, problem, d, p, t);
  const IndexLoop loop = memory_loop(problem.output());
  AnchoredRegion region = d.region;
  std::vector<ExtraStep> before = d.bias;
  TENON_ASSIGN(const JitArgument bias, take_bias(code, problem, t, loop, 1, region, before));
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, region, loop, before));
  const bool one_tap = d.window.kernel[1] * d.window.kernel[2] == 1;
  const int64_t size = byte_size(problem.output().type);
  const bool walks = add_walk(code, problem, {d.input, operands, one_tap},
                              {t.tiles(p), at_a_time(t, multiprocessors(problem)),
                               t.columns / t.splits * size, p.n * size});
  JitLaunch launch;
  TENON_TRY(set_source(launch, code,
                       {"jit/hopper.cuh", "gemm/hopper_tiles.cu", "gemm/hopper_products.cu",
                        "conv/hopper_pixels.cu", "gemm/hopper_moments.cu", "gemm/hopper_places.cu",
                        "gemm/hopper_store.cu", "gemm/hopper_start.cu", "gemm/hopper.cu"}));
  shape_launch(launch, t, p, multiprocessors(problem));
  launch.starts_early = t.each == 1;
  launch.maps = {map_of(problem, d, t.rows(), row),
                 {is_packed(d) ? JitArgument::input(d.weights) : JitArgument::constant(0),
                  problem.output().type,
                  {p.k, p.n, 1},
                  {1, p.k, 8},
                  {static_cast<int>(row), static_cast<int>(t.columns), 1},
                  {},
                  static_cast<int>(row * 2)}};
  launch.add({JitArgument::map(0), JitArgument::map(1), bias, JitArgument::output()});
  launch.add_inputs(operands);
  if (walks) launch.add(JitArgument::walk());
  JitPlan plan = plan_of(std::move(launch));
  if (!is_packed(d))
    plan.constants.push_back(
        packed_weights(*problem.input(d.weights).constant, taps_of(d), padded(d, row)));
  return plan;
}

}  // namespace
}  // namespace tenon::tactics::cuda_conv_hopper

namespace tenon::tactics::cuda_conv_sparse_hopper {
namespace {

using namespace cuda_conv_hopper;

Result<DeviceConvolution> describe(const Problem& problem) {
  TENON_ASSIGN(DeviceConvolution d, describe_device_convolution(problem));
  TENON_TRY(cuda_conv_hopper::check(problem, d));
  if (d.out_channels < 16) return unsupported("{} filters; takes 16 and more", d.out_channels);
  if (!has_sparse_pattern(*problem.input(d.weights).constant, 1))
    return unsupported("weights of which more than two of four channels are not zero");
  return d;
}

std::vector<std::string> tilings(const Problem& problem) {
  const auto d = describe(problem);
  if (!d.ok()) return {""};
  return best_sparse_tilings(sizes_of(problem, *d, kTileK), multiprocessors(problem), 16);
}

/// Taps with their channels, behind each other.
SparseColumns columns_of(const DeviceConvolution& d) {
  const int64_t taps = taps_of(d), all = padded(d, kTileK);
  SparseColumns columns{d.out_channels, d.in_channels * taps, {}};
  columns.places.assign(static_cast<size_t>(taps * all), -1);
  for (int64_t tap = 0; tap < taps; ++tap)
    for (int64_t c = 0; c < d.in_channels; ++c)
      columns.places[static_cast<size_t>(tap * all + c)] = c * taps + tap;
  return columns;
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const DeviceConvolution d, describe(problem));
  TENON_ASSIGN(const SparseTiling t, parse_sparse_tiling(config));
  const ProductSizes p = sizes_of(problem, d, kTileK);
  KernelCode code = begin_code(problem);
  add_result(code, problem, d, p, t.rows);
  add_sparse_tiling(code, t, problem.output().type == DataType::kBFloat16);
  const IndexLoop loop = memory_loop(problem.output());
  AnchoredRegion region = d.region;
  std::vector<ExtraStep> before = d.bias;
  TENON_ASSIGN(const JitArgument bias, take_bias(code, problem, {}, loop, 1, region, before));
  TENON_ASSIGN(const std::vector<int> operands, add_epilogue(code, problem, region, loop, before));
  JitLaunch launch;
  TENON_TRY(set_source(launch, code,
                       {"jit/hopper.cuh", "gemm/hopper_tiles.cu", "gemm/sparse_products.cu",
                        "conv/hopper_pixels.cu", "gemm/hopper_moments.cu", "gemm/sparse_places.cu",
                        "gemm/hopper_store.cu", "gemm/sparse.cu"}));
  shape_launch(launch, t, p, multiprocessors(problem));
  launch.starts_early = t.each == 1;
  launch.maps = {map_of(problem, d, t.rows, kTileK)};
  launch.add({JitArgument::map(0), JitArgument::constant(0), bias, JitArgument::output()});
  launch.add_inputs(operands);
  JitPlan plan = plan_of(std::move(launch));
  plan.constants.push_back(packed_sparse(
      *problem.input(d.weights).constant, columns_of(d), t,
      fmt::format("{} taps of {}", d.window.kernel[1] * d.window.kernel[2], d.in_channels)));
  return plan;
}

}  // namespace
}  // namespace tenon::tactics::cuda_conv_sparse_hopper

namespace tenon::tactics {
TENON_JIT_TACTIC(cuda_conv_sparse_hopper, cuda_conv_sparse_hopper::tilings)
TENON_JIT_TACTIC(cuda_conv_hopper, cuda_conv_hopper::tilings)
}  // namespace tenon::tactics
