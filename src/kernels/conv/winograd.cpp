#include "kernels/conv/winograd.h"

#include <algorithm>
#include <array>
#include <vector>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"
#include "device/cpu/worker_memory.h"
#include "kernels/gemm/pack.h"

namespace tenon::cpu {
namespace {

// Tasks are cut by channels too where there are few tiles, which alone would not keep the threads
// busy, and where weights are too large to be read again for every few tiles.
constexpr int64_t kSharedTiles = 64;
constexpr int64_t kMostReread = int64_t{768} << 10;
// As many channels as tiles: a task reads as much of weights as of transformed input.
constexpr int64_t kChannelBlock = 64;
constexpr int64_t kRowPadding = 16;
// Groups of fewer channels leave most of a vector and of a panel idle.
constexpr int64_t kLeastOfGroup = 8;
// So many threads each transform all the tiles that they meet: lines that another core has written
// cost more than computing them twice.
constexpr int64_t kThreadsAlone = 2;
constexpr int64_t kMostPanel = 64;  ///< Columns of a panel of any instruction set.

/// Rows of the matrix G that takes three weights to kTile + 2 points.
const std::vector<std::array<double, 3>>& weight_transform(int tile) {
  static const std::vector<std::array<double, 3>> two = {
      {1, 0, 0}, {0.5, 0.5, 0.5}, {0.5, -0.5, 0.5}, {0, 0, 1}};
  static const std::vector<std::array<double, 3>> four = {{1.0 / 4, 0, 0},
                                                          {-1.0 / 6, -1.0 / 6, -1.0 / 6},
                                                          {-1.0 / 6, 1.0 / 6, -1.0 / 6},
                                                          {1.0 / 24, 1.0 / 12, 1.0 / 6},
                                                          {1.0 / 24, -1.0 / 12, 1.0 / 6},
                                                          {0, 0, 1}};
  return tile == 2 ? two : four;
}

const WinogradFunctions& winograd_functions(Isa isa) {
  return TENON_BEST_OF_ISA(isa, kWinogradGeneric, kWinogradAvx2, kWinogradAvx512);
}

}  // namespace

WinogradShape WinogradShape::of(const ConvProblem& p, int tile) {
  return {.batch = p.batch,
          .channels = p.input_channels,
          .filters = p.output_channels,
          .depth = p.input[0],
          .out_depth = p.output[0],
          .slices = p.kernel[0],
          .slice_step = p.stride[0],
          .slice_dilation = p.dilation[0],
          .pad_front = p.pad[0],
          .height = p.input[1],
          .width = p.input[2],
          .out_height = p.output[1],
          .out_width = p.output[2],
          .pad_top = p.pad[1],
          .pad_left = p.pad[2],
          .input_stride = p.input_pixel_stride,
          .output_stride = p.output_pixel_stride,
          .dilation_high = p.dilation[1],
          .dilation_wide = p.dilation[2],
          .tiles_high = ceil_div(ceil_div(p.output[1], p.dilation[1]), tile),
          .tiles_wide = ceil_div(ceil_div(p.output[2], p.dilation[2]), tile)};
}

WinogradOutput epilogue_of(const ConvProblem& problem, const RegisterEpilogue& registers,
                           FinishFunction finish, const WinogradShape& shape,
                           const ConvArguments& arguments) {
  const bool all = registers.rest == static_cast<int>(problem.steps.size());
  const auto operand = [&](int step) {
    return step < 0 ? EpilogueOperand{} : arguments.operands[step];
  };
  const std::span<const EpilogueStep> steps(problem.steps);
  return {.shape = shape,
          .bias = static_cast<const float*>(operand(registers.bias).data),
          .residual = operand(registers.residual).data,
          .residual_stride = operand(registers.residual).row_stride,
          .activation = registers.activation,
          .low = registers.low,
          .high = registers.high,
          .output = arguments.output,
          .output_type = problem.output_type,
          .finish = all ? nullptr : finish,
          .steps = steps.subspan(registers.rest),
          .operands = arguments.operands + registers.rest};
}

template <int kTile> bool WinogradConvolution<kTile>::fits(const ConvProblem& p) {
  const bool plain = p.kernel[1] == 3 && p.kernel[2] == 3 && p.stride[1] == 1 && p.stride[2] == 1;
  // Channels of groups lie next to each other in one slice only.
  const bool flat = p.kernel[0] == 1 || p.groups == 1;
  // Images of the residues have two rows and columns at least.
  const bool dilated = p.dilation[1] == 1 || 2 * p.dilation[1] <= p.output[1];
  const bool wide = p.dilation[2] == 1 || 2 * p.dilation[2] <= p.output[2];
  const bool grouped =
      p.groups == 1 || std::min(p.input_channels, p.output_channels) >= kLeastOfGroup * p.groups;
  return !p.transposed && !p.channels_first_input && plain && grouped && flat && dilated && wide &&
         p.pad[0] >= 0 && p.pad[1] >= 0 && p.pad[2] >= 0;
}

template <int kTile>
Result<WinogradConvolution<kTile>> WinogradConvolution<kTile>::prepare(const ConvProblem& problem,
                                                                       const void* weights) {
  if (!fits(problem)) return unsupported("not a plain 3x3 convolution");
  TENON_TRY(check_steps(problem));
  WinogradConvolution conv;
  conv.problem_ = problem.with_strides();
  ConvProblem& p = conv.problem_;
  conv.shape_ = WinogradShape::of(p, kTile);
  const Isa isa = capped_isa(p.isa);
  conv.kernels_ = &microkernels(ElementType::f32, isa);
  conv.functions_ = &winograd_functions(isa);
  conv.finish_ = finish_function(isa);
  conv.registers_ = register_epilogue(p.steps, p.output_type);
  conv.choose_blocks();
  TENON_TRY(conv.pack(weights));
  return conv;
}

template <int kTile> Status WinogradConvolution<kTile>::pack(const void* weights) {
  const int64_t in = group_channels(), out = group_filters();
  const auto& g = weight_transform(kTile);
  const auto weight = [&](int64_t index) -> double {
    if (problem_.weight_type == ElementType::f32) return static_cast<const float*>(weights)[index];
    return bf16_to_float(static_cast<const uint16_t*>(weights)[index]);
  };
  packed_group_ = align_up(tenon::cpu::packed_bytes(*kernels_, in, out));
  packed_each_ = packed_group_ * problem_.groups;
  if (problem_.weights_change) return {};
  TENON_ASSIGN(packed_, PackedWeights::make(packed_bytes(), problem_.packed, weights));
  if (packed_.filled()) return {};
  const int64_t slices = shape_.slices, channels = in / slices;
  std::vector<float> matrix(in * out);
  const int64_t panels = ceil_div(out, kernels_->panel);
  for (int64_t part = 0; part < kPoints * problem_.groups; ++part) {
    const int64_t point = part / problem_.groups, first = part % problem_.groups * out;
    const auto &row = g[point / (kTile + 2)], &column = g[point % (kTile + 2)];
    for (int64_t o = 0; o < out; ++o)
      for (int64_t i = 0; i < in; ++i) {
        double sum = 0;
        for (int64_t t = 0; t < 9; ++t)
          sum += row[t / 3] * column[t % 3] *
                 weight((((first + o) * channels + i % channels) * slices + i / channels) * 9 + t);
        matrix[i * out + o] = static_cast<float>(sum);
      }
    pack_panels(*kernels_, {matrix.data(), ElementType::f32, out, 1}, in, out, 0, panels,
                static_cast<char*>(packed_.target()) + part * packed_group_);
  }
  return {};
}

/// Nine weights between channel `channel` of a group (of all slices) and filters [filter, filter +
/// count), [tap][filter of the panel].
template <int kTile>
void WinogradConvolution<kTile>::load_weights(const void* weights, int64_t filter, int64_t count,
                                              int64_t channel, float* nine) const {
  const int64_t slices = shape_.slices, channels = group_channels() / slices;
  const int64_t slice = channel / channels, within = channel % channels;
  const bool last = problem_.channels_last_weights;
  const int64_t tap_step = last ? channels : 1;
  const int64_t first = last ? slice * 9 * channels + within : (within * slices + slice) * 9;
  const auto load = [&]<class T>(const T* from, auto to_float) {
    for (int64_t n = 0; n < count; ++n)
      for (int64_t t = 0; t < 9; ++t)
        nine[t * kernels_->panel + n] =
            to_float(from[(filter + n) * channels * slices * 9 + first + t * tap_step]);
  };
  if (problem_.weight_type == ElementType::f32)
    load(static_cast<const float*>(weights), [](float x) { return x; });
  else
    load(static_cast<const uint16_t*>(weights), [](uint16_t x) { return bf16_to_float(x); });
}

/// The weights of a run in the order of pack().
template <int kTile>
void WinogradConvolution<kTile>::transform_weights(const void* weights, ThreadPool& pool,
                                                   char* to) const {
  const int64_t in = group_channels(), out = group_filters(), panel = kernels_->panel;
  const int64_t panels = ceil_div(out, panel);
  pool.parallel_for(problem_.groups * panels * in, 8, [&](int64_t begin, int64_t end, int) {
    std::array<float, 9 * kMostPanel> nine = {};
    for (int64_t i = begin; i < end; ++i) {
      const int64_t channel = i % in, first = i / in % panels * panel, group = i / in / panels;
      const int64_t count = std::min(panel, out - first);
      if (count < panel) nine = {};
      load_weights(weights, group * out + first, count, channel, nine.data());
      auto* at = reinterpret_cast<float*>(to + group * packed_group_);
      functions_->weights[kTile / 4](
          {.nine = nine.data(),
           .columns = panel,
           .to = at + first / panel * panel_stride(*kernels_, in) + channel * panel,
           .point_stride = static_cast<int64_t>(packed_each_ / sizeof(float))});
    }
  });
}

template <int kTile> void WinogradConvolution<kTile>::choose_blocks() {
  const int64_t tiles = std::max<int64_t>(1, shape_.tiles());
  const int64_t weights = kPoints * group_channels() * shape_.filters * int64_t{sizeof(float)};
  shared_ = tiles <= kSharedTiles || weights > kMostReread;
  // Alone, as many rows as one tile of the matrix kernel has; in equal blocks.
  tile_block_ = ceil_div(tiles, ceil_div(tiles, shared_ ? kSharedTiles : kernels_->max_rows));
  channel_block_ =
      std::min(kChannelBlock, ceil_div(group_filters(), kernels_->panel) * kernels_->panel);
  if (shared_ && blocks() * parts() < problem_.threads) channel_block_ = kernels_->panel;
}

template <int kTile> int64_t WinogradConvolution<kTile>::row_stride() const {
  const int64_t numbers = shape_.slices * shape_.channels;
  return static_cast<int64_t>(align_up(numbers * sizeof(float)) / sizeof(float)) + kRowPadding;
}

template <int kTile> int64_t WinogradConvolution<kTile>::parts() const {
  return shared_ ? channel_blocks() : 1;
}

template <int kTile> bool WinogradConvolution<kTile>::transforms_together() const {
  return shared_ && problem_.threads > kThreadsAlone;
}

template <int kTile> size_t WinogradConvolution<kTile>::transformed_bytes() const {
  const int64_t tiles = transforms_together() ? shape_.tiles() : tile_block_;
  return align_up(kPoints * tiles * row_stride() * sizeof(float));
}

/// Behind the sums, one tile of pixels, and which block's tiles these are.
template <int kTile> size_t WinogradConvolution<kTile>::transformed_at() const {
  const size_t sums = align_up(kPoints * tile_block_ * channel_block_ * sizeof(float));
  const size_t tile = align_up(kTile * kTile * channel_block_ * sizeof(float));
  return sums + tile + kAlignment;
}

template <int kTile> size_t WinogradConvolution<kTile>::worker_bytes() const {
  return worker_stride(transformed_at() + (transforms_together() ? 0 : transformed_bytes()),
                       problem_.threads);
}

template <int kTile> size_t WinogradConvolution<kTile>::scratch_bytes() const {
  const size_t weights = problem_.weights_change ? align_up(packed_bytes()) : 0;
  const size_t all = weights + (transforms_together() ? transformed_bytes() : 0);
  return all + worker_bytes() * problem_.threads;
}

template <int kTile>
void WinogradConvolution<kTile>::transform(const ConvArguments& arguments, int64_t first,
                                           int64_t count, float* to, int64_t tiles) const {
  functions_->input[kTile / 4]({.shape = shape_,
                                .input = arguments.input,
                                .input_type = problem_.input_type,
                                .first = first,
                                .count = count,
                                .to = to,
                                .point_stride = tiles * row_stride(),
                                .tile_stride = row_stride()});
}

/// Products and output pixels of a block of tiles and a part of the channels.
template <int kTile>
void WinogradConvolution<kTile>::run_part(const ConvArguments& arguments, const Tiles& tiles,
                                          int64_t part, float* sums) const {
  const int64_t of_group = channel_blocks() / problem_.groups;
  const int64_t last = shared_ ? part + 1 : channel_blocks();
  for (int64_t block = shared_ ? part : 0; block < last; ++block) {
    const int64_t within = block % of_group * channel_block_;
    const int64_t channels = std::min(channel_block_, group_filters() - within);
    const int64_t group = block / of_group;
    multiply(static_cast<const char*>(arguments.weights), tiles, group, within, channels, sums);
    finish(arguments, tiles, group * group_filters() + within, channels, sums);
  }
}

template <int kTile>
void WinogradConvolution<kTile>::multiply(const char* packed, const Tiles& tiles, int64_t group,
                                          int64_t channel, int64_t channels, float* sums) const {
  const int64_t row_tiles = ceil_div(tiles.count, kernels_->max_rows);
  const int64_t panel_bytes = panel_stride(*kernels_, group_channels()) * 4;
  for (int point = 0; point < kPoints; ++point) {
    for (int64_t c = 0; c < channels; c += kernels_->panel) {
      const char* b = packed + point * packed_each_ + group * packed_group_ +
                      (channel + c) / kernels_->panel * panel_bytes;
      // The successor of this panel: the next one of this point, or the first of the next point.
      const char* next = c + kernels_->panel < channels
                             ? b + panel_bytes
                             : b - c / kernels_->panel * panel_bytes + packed_each_;
      for (int64_t i = 0; i < row_tiles; ++i) {
        const int64_t r = i * tiles.count / row_tiles;
        Tile tile;
        tile.a =
            tiles.transformed + (point * tiles.there + r) * row_stride() + group * group_channels();
        tile.a_stride = row_stride();
        tile.b = b;
        tile.k = group_channels();
        tile.prefetch_step = ceil_div(4 * kernels_->panel, row_tiles);
        tile.prefetch = next + i * tile.k * tile.prefetch_step;
        tile.rows = static_cast<int>((i + 1) * tiles.count / row_tiles - r);
        tile.columns = static_cast<int>(std::min<int64_t>(kernels_->panel, channels - c));
        tile.output = sums + (point * tiles.count + r) * channel_block_ + c;
        tile.output_stride = channel_block_;
        kernels_->run(tile);
      }
    }
  }
}

template <int kTile>
void WinogradConvolution<kTile>::finish(const ConvArguments& arguments, const Tiles& tiles,
                                        int64_t channel, int64_t channels, float* sums) const {
  WinogradOutput output = epilogue_of(problem_, registers_, finish_, shape_, arguments);
  output.sums = sums;
  output.point_stride = tiles.count * channel_block_;
  output.tile_stride = channel_block_;
  output.first = tiles.first;
  output.count = tiles.count;
  output.channel = channel;
  output.channels = channels;
  output.tile = sums + align_up(kPoints * tile_block_ * channel_block_ * sizeof(float)) / 4;
  functions_->output[kTile / 4](output);
}

template <int kTile>
void WinogradConvolution<kTile>::run_together(const ConvArguments& arguments, ThreadPool& pool,
                                              char* scratch) const {
  const int64_t tiles = shape_.tiles();
  float* all = reinterpret_cast<float*>(scratch + worker_bytes() * problem_.threads);
  pool.parallel_for(tiles, 1, [&](int64_t begin, int64_t end, int) {
    transform(arguments, begin, end - begin, all + begin * row_stride(), tiles);
  });
  pool.for_each(blocks() * parts(), 1, [&](int64_t task, int worker) {
    float* sums = reinterpret_cast<float*>(scratch + worker * worker_bytes());
    // Tasks run over tiles fastest: neighbours share weights.

    const int64_t first = task % blocks() * tile_block_;
    run_part(arguments,
             {first, std::min(tile_block_, tiles - first), all + first * row_stride(), tiles},
             task / blocks(), sums);
  });
}

template <int kTile>
void WinogradConvolution<kTile>::run_alone(const ConvArguments& arguments, ThreadPool& pool,
                                           char* scratch) const {
  const size_t tiles_at = transformed_at();
  const auto own_block = [&](int worker) {
    return reinterpret_cast<int64_t*>(scratch + worker * worker_bytes() + tiles_at - kAlignment);
  };
  for (int worker = 0; worker < problem_.threads; ++worker) *own_block(worker) = -1;
  pool.parallel_for(blocks() * parts(), 1, [&](int64_t begin, int64_t end, int worker) {
    char* memory = scratch + worker * worker_bytes();
    float* transformed = reinterpret_cast<float*>(memory + tiles_at);
    // Tasks run over channels fastest: neighbours share tiles.
    for (int64_t task = begin; task < end; ++task) {
      const int64_t block = task / parts(), first = block * tile_block_;
      const int64_t count = std::min(tile_block_, shape_.tiles() - first);
      if (*own_block(worker) != block) transform(arguments, first, count, transformed, count);
      *own_block(worker) = block;
      run_part(arguments, {first, count, transformed, count}, task % parts(),
               reinterpret_cast<float*>(memory));
    }
  });
}

template <int kTile>
void WinogradConvolution<kTile>::run(const ConvArguments& arguments, ThreadPool& pool,
                                     void* scratch) const {
  char* memory = static_cast<char*>(scratch);
  ConvArguments own = arguments;
  own.weights = packed_.at(0);
  if (problem_.weights_change) {
    transform_weights(arguments.weights, pool, memory);
    own.weights = memory;
    memory += align_up(packed_bytes());
  }
  transforms_together() ? run_together(own, pool, memory) : run_alone(own, pool, memory);
}

template class WinogradConvolution<2>;
template class WinogradConvolution<4>;

}  // namespace tenon::cpu
