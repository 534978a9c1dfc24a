#include "kernels/conv/mixed_winograd.h"

#include <algorithm>

#include "kernels/gemm/pack.h"
#include "kernels/gemm/product.h"

namespace tenon::cpu {
namespace {

// Transformed tiles of a block stay in the second-level cache for all panels of weights.
constexpr int64_t kMostTiles = 32;
// So many threads each transform all the tiles that they meet, see winograd.cpp.
constexpr int64_t kThreadsAlone = 2;
constexpr int kRowsAtOnce = 4;
// From so many tiles on products last longer than memory needs for the weights.
constexpr int64_t kTilesThatFetch = 12;
constexpr int64_t kPlain = 9 * kMixedPanel;  // floats of an input channel in a panel
constexpr int64_t kFloatsAligned = static_cast<int64_t>(kAlignment / sizeof(float));

int64_t ceil_div(int64_t a, int64_t b) {
  return (a + b - 1) / b;
}
int64_t aligned_floats(int64_t count) {
  return ceil_div(count, kFloatsAligned) * kFloatsAligned;
}

const MixedFunctions* mixed_functions(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return &kMixedAvx512;
#endif
  (void)isa;
  return nullptr;
}

/// The highest class of points that a tile takes of which `rest` pixels are left.
int last_class(int64_t rest) {
  return static_cast<int>(std::clamp<int64_t>(rest - 2, 0, 2));
}

}  // namespace

bool MixedWinograd::fits(const ConvProblem& p) {
  return mixed_functions(capped_isa(p.isa)) != nullptr && WinogradConvolution<4>::fits(p);
}

Result<MixedWinograd> MixedWinograd::prepare(const ConvProblem& problem, const void* weights) {
  if (!fits(problem)) return unsupported("not a plain 3x3 convolution, or no AVX-512");
  TENON_TRY(check_steps(problem));
  MixedWinograd conv;
  conv.problem_ = problem;
  ConvProblem& p = conv.problem_;
  if (p.input_pixel_stride == 0) p.input_pixel_stride = p.input_channels;
  if (p.output_pixel_stride == 0) p.output_pixel_stride = p.output_channels;
  conv.shape_ = WinogradShape::of(p, 4);
  const Isa isa = capped_isa(p.isa);
  conv.functions_ = mixed_functions(isa);
  conv.finish_ = finish_function(isa);
  conv.registers_ = register_epilogue(p.steps, p.output_type);
  conv.place_tiles();
  TENON_TRY(conv.pack(weights));
  return conv;
}

int64_t MixedWinograd::panels() const {
  return ceil_div(shape_.filters, kMixedPanel);
}

/// Panels of output channels: [input channel][9][kMixedPanel].
Status MixedWinograd::pack(const void* weights) {
  const int64_t in = shape_.channels, out = shape_.filters;
  const size_t bytes = panels() * in * kPlain * sizeof(float);
  TENON_ASSIGN(packed_, PackedWeights::make(bytes, problem_.packed, weights));
  if (packed_.filled()) return {};
  float* to = static_cast<float*>(packed_.target());
  std::fill_n(to, bytes / sizeof(float), 0.0f);
  for (int64_t o = 0; o < out; ++o)
    for (int64_t i = 0; i < in; ++i) {
      float* at = to + (o / kMixedPanel * in + i) * kPlain + o % kMixedPanel;
      for (int64_t tap = 0; tap < 9; ++tap) {
        const int64_t index = (o * in + i) * 9 + tap;
        at[tap * kMixedPanel] = problem_.weight_type == ElementType::f32
                                    ? static_cast<const float*>(weights)[index]
                                    : bf16_to_float(static_cast<const uint16_t*>(weights)[index]);
      }
    }
  return {};
}

void MixedWinograd::place_tiles() {
  const int64_t tiles = shape_.tiles();
  const int64_t count = ceil_div(tiles, kMostTiles);
  block_tiles_ = count == 0 ? 0 : ceil_div(tiles, count);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    if (tile % block_tiles_ == 0)
      blocks_.push_back({tile, std::min(block_tiles_, tiles - tile), {}});
    MixedBlock& block = blocks_.back();
    places_.push_back(block.rows);
    const int64_t row = tile / shape_.tiles_wide % shape_.tiles_high;
    const int high = last_class(shape_.out_height - 4 * row);
    const int wide = last_class(shape_.out_width - 4 * (tile % shape_.tiles_wide));
    for (int i = 0; i <= high; ++i)
      for (int j = 0; j <= wide; ++j) ++block.rows[3 * i + j];
  }
}

bool MixedWinograd::transforms_together() const {
  return problem_.threads > kThreadsAlone;
}

MixedWinograd::WorkerMemory MixedWinograd::worker_memory() const {
  WorkerMemory m;
  m.tile = aligned_floats(kMixedPoints * sums_stride());
  m.weights = m.tile + 16 * kMixedPanel;
  m.tiles = m.weights + 4 * 3 * kMixedDepth * kMixedPanel;
  // Before the tiles, which block's they are.
  if (!transforms_together()) m.tiles += kFloatsAligned;
  m.size = m.tiles + (transforms_together() ? 0 : aligned_floats(depths() * depth_stride()));
  return m;
}

size_t MixedWinograd::scratch_bytes() const {
  int64_t floats = worker_memory().size * problem_.threads;
  if (transforms_together())
    floats += static_cast<int64_t>(blocks_.size()) * aligned_floats(depths() * depth_stride());
  return static_cast<size_t>(floats) * sizeof(float);
}

size_t MixedWinograd::fetch_capacity() const {
  if (block_tiles_ < kTilesThatFetch) return 0;
  return static_cast<size_t>(tasks() * shape_.channels * kPlain) * sizeof(float) / 2;
}

void MixedWinograd::transform(const ConvArguments& arguments, int64_t first, int64_t count,
                              float* to) const {
  functions_->input({.shape = shape_,
                     .input = arguments.input,
                     .input_type = problem_.input_type,
                     .first = first,
                     .count = count,
                     .places = places_.data(),
                     .to = to,
                     .point_stride = point_stride(),
                     .depth_stride = depth_stride()});
}

void MixedWinograd::transform_all(const ConvArguments& arguments, ThreadPool& pool,
                                  float* to) const {
  const int64_t size = aligned_floats(depths() * depth_stride());
  pool.parallel_for(shape_.tiles(), 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t tile = begin; tile < end; ++tile)
      transform(arguments, tile, 1, to + tile / block_tiles_ * size);
  });
}

/// All points of one column of the tile: weights are fetched by the first three points of a few
/// tiles, what is wanted ahead by the other three.
void MixedWinograd::multiply_column(const MixedBlock& block, int column, const float* tiles,
                                    float* sums, MixedProduct& product, Fetch& ahead) const {
  const int kind = kMixedClass[column];
  const int64_t calls = ceil_div(block.rows[kind], kRowsAtOnce);
  for (int64_t call = 0; call < calls; ++call)
    for (int far = 0; far < 2; ++far) {
      constexpr int kPoints[2][3] = {{0, 1, 2}, {3, 4, 5}};
      int rows[3];
      for (int q = 0; q < 3; ++q) {
        const int i = kPoints[far][q], point = i * 6 + column;
        const int64_t all = block.rows[3 * kMixedClass[i] + kind], first = call * all / calls;
        rows[q] = static_cast<int>((call + 1) * all / calls - first);
        product.tiles[q] = tiles + point * point_stride() + first * kMixedDepth;
        product.sums[q] = sums + point * sums_stride() + first * kMixedPanel;
      }
      if (far == 0) {
        functions_->near[rows[2]](product);
      } else if (ahead.step == 0) {
        functions_->far[rows[0]][rows[1]][rows[2]](product);
      } else {
        MixedProduct other = product;
        other.fetch = ahead.at, other.fetch_step = ahead.step;
        functions_->far[rows[0]][rows[1]][rows[2]](other);
        ahead.at += ahead.step * product.k;
        continue;
      }
      product.fetch += product.fetch_step * product.k;
    }
}

void MixedWinograd::multiply(const MixedBlock& block, const float* plain, const float* tiles,
                             float* memory, std::span<const std::byte> ahead) const {
  const WorkerMemory at = worker_memory();
  float* half = memory + at.weights;
  int64_t calls = 0;  // of one half of the points
  for (int column = 0; column < 6; ++column)
    calls += ceil_div(block.rows[kMixedClass[column]], kRowsAtOnce);
  const auto bytes = static_cast<int64_t>(ahead.size());
  Fetch fetch{reinterpret_cast<const char*>(ahead.data()),
              ceil_div(bytes, calls * shape_.channels)};
  for (int64_t c = 0; c < shape_.channels; c += kMixedDepth) {
    const int64_t k = std::min(kMixedDepth, shape_.channels - c);
    functions_->weights(plain, half, k);
    const float* next = plain + k * kPlain;
    MixedProduct product{};
    product.k = k;
    product.adds = c > 0;
    product.fetch = reinterpret_cast<const char*>(next);
    product.fetch_step = ceil_div(kPlain * 4, bytes > 0 ? calls : 2 * calls);
    for (int column = 0; column < 6; ++column) {
      const bool as_is = column == 0 || column == 5;
      product.weights = column == 0   ? plain
                        : column == 5 ? plain + 2 * kMixedPanel
                                      : half + (column - 1) * 3 * kMixedDepth * kMixedPanel;
      product.k_stride = (as_is ? 9 : 3) * kMixedPanel;
      product.row_stride = (as_is ? 3 : 1) * kMixedPanel;
      multiply_column(block, column, tiles, memory, product, fetch);
    }
    plain = next;
    tiles += depth_stride();
  }
}

void MixedWinograd::finish(const ConvArguments& arguments, const MixedBlock& block, int64_t channel,
                           float* memory) const {
  const bool all = registers_.rest == static_cast<int>(problem_.steps.size());
  const auto operand = [&](int step) {
    return step < 0 ? EpilogueOperand{} : arguments.operands[step];
  };
  const std::span<const EpilogueStep> steps(problem_.steps);
  functions_->output({.shape = shape_,
                      .sums = memory,
                      .point_stride = sums_stride(),
                      .tile_stride = kMixedPanel,
                      .first = block.first,
                      .count = block.count,
                      .channel = channel,
                      .channels = std::min(kMixedPanel, shape_.filters - channel),
                      .bias = static_cast<const float*>(operand(registers_.bias).data),
                      .residual = operand(registers_.residual).data,
                      .residual_stride = operand(registers_.residual).row_stride,
                      .activation = registers_.activation,
                      .low = registers_.low,
                      .high = registers_.high,
                      .output = arguments.output,
                      .output_type = problem_.output_type,
                      .tile = memory + worker_memory().tile,
                      .finish = all ? nullptr : finish_,
                      .steps = steps.subspan(registers_.rest),
                      .operands = arguments.operands + registers_.rest},
                     places_.data());
}

void MixedWinograd::run_task(const ConvArguments& arguments, int64_t task, const float* tiles,
                             float* memory) const {
  const MixedBlock& block = blocks_[task / panels()];
  const int64_t panel = task % panels();
  const float* plain =
      reinterpret_cast<const float*>(packed_.at(0)) + panel * shape_.channels * kPlain;
  const auto ahead =
      arguments.ahead.empty() ? arguments.ahead : part_of(arguments.ahead, task, tasks());
  multiply(block, plain, tiles, memory, ahead);
  finish(arguments, block, panel * kMixedPanel, memory);
}

void MixedWinograd::run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const {
  const WorkerMemory at = worker_memory();
  float* memory = static_cast<float*>(scratch);
  float* all = memory + at.size * problem_.threads;
  if (transforms_together()) transform_all(arguments, pool, all);
  const auto own_block = [&](int worker) {
    return reinterpret_cast<int64_t*>(memory + worker * at.size + at.tiles - kFloatsAligned);
  };
  if (!transforms_together())
    for (int worker = 0; worker < problem_.threads; ++worker) *own_block(worker) = -1;
  // Tasks run over channels fastest: neighbours share tiles.
  pool.parallel_for(tasks(), 1, [&](int64_t begin, int64_t end, int worker) {
    float* own = memory + worker * at.size;
    for (int64_t task = begin; task < end; ++task) {
      const int64_t block = task / panels();
      if (transforms_together()) {
        run_task(arguments, task, all + block * aligned_floats(depths() * depth_stride()), own);
        continue;
      }
      if (*own_block(worker) != block)
        transform(arguments, blocks_[block].first, blocks_[block].count, own + at.tiles);
      *own_block(worker) = block;
      run_task(arguments, task, own + at.tiles, own);
    }
  });
}

}  // namespace tenon::cpu
