// Convolutions by kernels of our own on NVIDIA GPUs: depthwise ones, and any other where no library
// takes them.
#include <algorithm>
#include <numeric>

#include "kernels/conv/device_convolution_cuda.h"
#include "kernels/image.h"

namespace tenon::tactics {
namespace {

constexpr int kBlock = 128;

}  // namespace

namespace cuda_depthwise {
namespace {

/// Registers of a thread that takes several rows: weights, results, two rows of input.
int64_t registers_of(const DeviceWindow& w, int64_t tile, int64_t vector) {
  const int64_t live = blocks_for((w.kernel[1] - 1) * w.dilation[1] + 1, w.stride[1]);
  const int64_t span = (tile - 1) * w.stride[2] + (w.kernel[2] - 1) * w.dilation[2] + 1;
  return w.kernel[1] * w.kernel[2] * vector + live * tile * vector + span * vector + 28;
}

/// Several rows a thread, where that leaves enough threads.
void add_tall_tiles(const Problem& problem, const DeviceConvolution& d,
                    std::vector<std::string>& configs) {
  struct Tile {
    int64_t tile, vector, rows;
  };
  const int64_t height = d.window.output[1], width = d.window.output[2];
  for (const Tile& t : {Tile{2, 4, 7}, Tile{2, 2, 7}, Tile{4, 2, 7}, Tile{2, 4, 4}}) {
    const int64_t padded = blocks_for(height, t.rows) * t.rows * blocks_for(width, t.tile) * t.tile;
    const int64_t threads = problem.output().count() / (t.rows * t.tile * t.vector);
    if (padded * 5 > height * width * 6 || threads < int64_t{64} * multiprocessors(problem))
      continue;
    if (registers_of(d.window, t.tile, t.vector) <= 150)
      configs.push_back(fmt::format("tile={},vector={},rows={}", t.tile, t.vector, t.rows));
  }
}

/// Small problems need many threads, large ones many results a thread.
std::vector<std::string> tile_configs(const Problem& problem) {
  std::vector<std::string> configs;
  if (problem.output().count() > int64_t{1} << 21)
    configs = {"tile=4,vector=8", "tile=2,vector=8", "tile=4,vector=4", "tile=2,vector=4"};
  else
    configs = {"tile=1,vector=4", "tile=1,vector=2", "tile=1,vector=8", "tile=2,vector=4",
               "tile=2,vector=8"};
  const auto d = describe_device_convolution(problem, true);
  if (d.ok()) add_tall_tiles(problem, *d, configs);
  return configs;
}

Result<JitPlan> plan(const Problem& problem, std::string_view config) {
  TENON_ASSIGN(const DeviceConvolution d, describe_device_convolution(problem, true));
  const Operand &x = problem.input(d.input), &w = problem.input(d.weights), &y = problem.output();
  if (d.transposed || d.groups != d.in_channels || d.out_channels != d.in_channels)
    return unsupported("not depthwise");
  if (w.constant == nullptr) return unsupported("the weights are not constant");
  if ((x.type != y.type && d.region.quantize == nullptr) || x.type != w.type ||
      wide_type(x.type) != std::string_view("f32"))
    return unsupported("{} by {} to {}; takes f32, f16, bf16", name_of(x.type), name_of(w.type),
                       name_of(y.type));
  if (!is_part_of_image(x) || !pixel_stride(y)) return unsupported("not channels-last");
  if (!is_planar(d.window)) return unsupported("three spatial axes; takes two");
  if (d.window.kernel[1] > 7 || d.window.kernel[2] > 7)
    return unsupported("a kernel of {}x{}; takes 7x7", d.window.kernel[1], d.window.kernel[2]);
  const IndexLoop loop = memory_loop(y), channels = {{1, d.out_channels}};
  const int widest = static_cast<int>(config_number(config, "vector").value_or(8));
  const int vector = std::min(
      {pack_width(channels, x), pack_width(memory_loop(x), x), pack_width(loop, y), widest});
  const int64_t tile = config_number(config, "tile").value_or(2);
  const int64_t rows = config_number(config, "rows").value_or(1);
  const int64_t tasks = y.extents[0] * blocks_for(d.window.output[1], rows) *
                        blocks_for(d.window.output[2], tile) * (d.out_channels / vector);
  KernelCode code = begin_code(problem);
  code.type("X", x.type);
  TENON_TRY(add_result_type(code, problem, d.region));
  code.round_to(y.type);
  add_window(code, d.window);
  add_image_strides(code, "X", x);
  code.constants("kChannels kVector kTile kRows", d.out_channels, vector, tile, rows);
  code.constant("kBlocksTogether", registers_of(d.window, tile, vector) > 140 ? 2 : 3);
  code.open("kTasks", tasks);
  code.constant("kBlock", kBlock);
  code.located("YAt", loop, y);
  TENON_ASSIGN(const std::vector<int> operands,
               add_epilogue(code, problem, d.region, loop, d.bias));
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {rows > 1 ? "conv/depthwise_rows.cu" : "conv/depthwise.cu"},
                           blocks_for(tasks, kBlock), kBlock));
  launch.starts_early = false;
  launch.add({JitArgument::input(d.input), JitArgument::constant(0), JitArgument::output()});
  launch.add_inputs(operands);
  const int64_t taps = d.window.kernel[1] * d.window.kernel[2];
  JitPlan plan = plan_of(std::move(launch));
  plan.constants.push_back(reordered_weights(*w.constant, {taps, d.out_channels}, {1, taps}));
  return plan;
}

}  // namespace
}  // namespace cuda_depthwise

namespace cuda_direct {
namespace {

/// Strides of the weights in elements: output channel, input channel, three places.
struct WeightStrides {
  int64_t out = 0, in = 0, place[3] = {0, 0, 0};
};

/// Where the weights are read: as they are, or in an order that keeps output channels together.
WeightStrides choose_weights(const DeviceConvolution& d, const Operand& w, JitPlan& plan) {
  std::vector<int64_t> own = strides_of(w);
  own.insert(own.begin() + 2, static_cast<size_t>(5 - w.rank()), 0);
  const int out = d.transposed ? 1 : 0, in = 1 - out;
  WeightStrides s{own[out], own[in], {own[2], own[3], own[4]}};
  if (w.constant == nullptr) return s;
  const std::vector<int64_t> dense = dense_strides(w.extents, Layout::kRowMajor);
  std::vector<int64_t> from = dense;
  from.insert(from.begin() + 2, static_cast<size_t>(5 - w.rank()), 0);
  const int64_t outs = w.extents[out], ins = w.extents[in];
  plan.constants.push_back(reordered_weights(
      *w.constant, {d.window.kernel[0], d.window.kernel[1], d.window.kernel[2], ins, outs},
      {from[2], from[3], from[4], from[in], from[out]}));
  const int64_t plane = ins * outs;
  return {1,
          outs,
          {d.window.kernel[1] * d.window.kernel[2] * plane, d.window.kernel[2] * plane, plane}};
}

/// Steps of the loop over the output in memory order: image, three places, channel.
void add_loop_strides(KernelCode& code, const Operand& y) {
  std::vector<int64_t> strides = dense_strides(y.extents, y.layout);
  strides.insert(strides.begin() + 2, static_cast<size_t>(5 - y.rank()), 0);
  code.constants("kLoop0 kLoop1 kLoop2 kLoop3", strides[0], strides[2], strides[3], strides[4]);
  code.constant("kLoopC", strides[1]);
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const DeviceConvolution d, describe_device_convolution(problem));
  const Operand &x = problem.input(d.input), &w = problem.input(d.weights), &y = problem.output();
  JitPlan plan;
  const WeightStrides weights = choose_weights(d, w, plan);
  const int64_t group_out = d.out_channels / d.groups;
  int64_t vector = std::gcd<int64_t>(group_out, 8);
  vector = std::min<int64_t>(vector, 16 / byte_size(w.type));
  if (w.constant == nullptr) vector = std::gcd(vector, alignment_in_elements(w));
  const int64_t pixels = d.window.output[2] >= 4 ? 4 : 1;
  const int64_t tasks = y.extents[0] * d.window.output[0] * d.window.output[1] *
                        blocks_for(d.window.output[2], pixels) * (d.out_channels / vector);
  KernelCode code = begin_code(problem);
  code.types("X W Y", x.type, w.type, y.type);
  const bool real = is_real(x.type);
  code.alias("Accumulator", !real ? "i32" : x.type == DataType::kFloat64 ? "f64" : "f32");
  code.round_to(y.type);
  add_window(code, d.window);
  add_image_strides(code, "X", x);
  add_loop_strides(code, y);
  code.constants("kInChannels kOutChannels kGroups", d.in_channels, d.out_channels, d.groups);
  // Weights of a transposed convolution have their group among the input channels.
  code.constant("kOwnGroup", d.transposed ? 1 : 0);
  code.flag("kTransposed", d.transposed);
  code.constants("kWeightOut kWeightIn", weights.out, weights.in);
  for (int i = 0; i < 3; ++i) code.constant(fmt::format("kWeight{}", i), weights.place[i]);
  code.constants("kVector kPixels", vector, pixels);
  code.open("kTasks", tasks);
  code.constant("kBlock", kBlock);
  const IndexLoop loop = memory_loop(y);
  code.located("YAt", loop, y);
  TENON_ASSIGN(const std::vector<int> operands,
               add_epilogue(code, problem, d.region, loop, d.bias));
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"conv/direct.cu"}, blocks_for(tasks, kBlock), kBlock));
  launch.starts_early = false;
  launch.add({JitArgument::input(d.input),
              plan.constants.empty() ? JitArgument::input(d.weights) : JitArgument::constant(0),
              JitArgument::output()});
  launch.add_inputs(operands);
  plan.launches.push_back(std::move(launch));
  return plan;
}

}  // namespace
}  // namespace cuda_direct

TENON_JIT_TACTIC(cuda_depthwise, cuda_depthwise::tile_configs)
TENON_JIT_TACTIC(cuda_direct, single_config)

}  // namespace tenon::tactics
