#include "kernels/conv/mixed_winograd.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "device/cpu/worker_memory.h"
#include "kernels/gemm/pack.h"
#include "kernels/gemm/product.h"

namespace tenon::cpu {
namespace {

// Weights that WinogradConvolution, which has less to compute, reads from near caches.
constexpr int64_t kSmallWeights = int64_t{3} << 20;
// Transformed tiles of a block stay in the second-level cache for all panels of weights.
constexpr int64_t kMostTiles = 32;
constexpr int64_t kMostNumbers = int64_t{704} << 10;  // bytes
// So many threads each transform all the tiles that they meet, see winograd.cpp.
constexpr int64_t kThreadsAlone = 2;
// From so many rows on products last longer than memory needs for the weights.
constexpr int64_t kRowsThatFetch = 12;
// Calls of products that transforming a panel's weights lasts as long as.
constexpr int64_t kTransformCalls = 3;
constexpr int64_t kPlain = 9 * kMixedPanel;  // floats of an input channel in a panel
constexpr int64_t kFloatsAligned = static_cast<int64_t>(kAlignment / sizeof(float));

int64_t aligned_floats(int64_t count) {
  return ceil_div(count, kFloatsAligned) * kFloatsAligned;
}

const MixedFunctions* mixed_functions(Isa isa, const Spatial& stride) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512 && stride == Spatial{1, 1, 1}) return &kMixedAvx512;
  if (isa >= Isa::avx512 && stride == Spatial{1, 2, 2}) return &kMixedStridedAvx512;
#endif
  (void)isa, (void)stride;
  return nullptr;
}

/// How many numbers of a class a tile has of which `rest` pixels are left.
int64_t numbers_of(int kind, int64_t rest) {
  const int64_t pixels = std::clamp<int64_t>(rest, 2, 4);
  if (kind == kMixedOdd) return pixels;
  return kind <= pixels - 2 ? 1 : 0;
}

/// The share of `all` things that the index-th of `count` gets: the first ones get one more. Of
/// fewer things none gets more.
struct Share {
  int64_t first, count;
  Share(int64_t all, int64_t index, int64_t parts)
      : first(index * (all / parts) + std::min(index, all % parts)),
        count(all / parts + (index < all % parts ? 1 : 0)) {}
};

}  // namespace

bool MixedWinograd::fits(const ConvProblem& p) {
  if (mixed_functions(capped_isa(p.isa), p.stride) == nullptr) return false;
  if (p.dilation != Spatial{1, 1, 1} || p.groups != 1) return false;
  if (p.input[0] != 1 || p.kernel[0] != 1 || p.output[0] != 1) return false;
  ConvProblem dense = p;
  dense.stride = {1, 1, 1};
  return WinogradConvolution<4>::fits(dense);
}

bool MixedWinograd::pays(const ConvProblem& p) {
  const int64_t transformed = 36 * p.input_channels * p.output_channels * int64_t{sizeof(float)};
  return p.stride[1] > 1 || transformed > kSmallWeights;
}

bool MixedWinograd::pays_in_networks(const ConvProblem& p) {
  return fits(p) && pays(p) && WinogradShape::of(p, 4).tiles() <= kMostTiles;
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
  conv.functions_ = mixed_functions(isa, p.stride);
  conv.finish_ = finish_function(isa);
  conv.registers_ = register_epilogue(p.steps, p.output_type);
  conv.place_tiles();
  conv.count_rows();
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
  const int64_t points = problem_.stride[1] == 1 ? 36 : 81;
  const int64_t most = std::clamp<int64_t>(
      kMostNumbers / (points * shape_.channels * int64_t{sizeof(float)}), 1, kMostTiles);
  const int64_t count = ceil_div(tiles, most);
  block_tiles_ = count == 0 ? 0 : ceil_div(tiles, count);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    if (tile % block_tiles_ == 0)
      blocks_.push_back({tile, std::min(block_tiles_, tiles - tile), {}});
    MixedBlock& block = blocks_.back();
    places_.push_back(block.rows);
    const int64_t high = shape_.out_height - tile / shape_.tiles_wide % shape_.tiles_high * 4;
    const int64_t wide = shape_.out_width - tile % shape_.tiles_wide * 4;
    for (int i = 0; i < kMixedClasses; ++i)
      for (int j = 0; j < kMixedClasses; ++j)
        block.rows[i * kMixedClasses + j] += numbers_of(i, high) * numbers_of(j, wide);
  }
}

/// Forms begin at odd rows: kMixedDepth numbers are a sixteenth of the distance of lines of one
/// set.
void MixedWinograd::count_rows() {
  MixedPlaces most = {};
  for (const MixedBlock& block : blocks_)
    for (size_t i = 0; i < most.size(); ++i) most[i] = std::max(most[i], block.rows[i]);
  for (int i = 0; i < kMixedForms; ++i)
    for (int j = 0; j < kMixedForms; ++j) {
      rows_[i * kMixedForms + j] = static_cast<int32_t>(all_rows_);
      all_rows_ += most[functions_->classes[i] * kMixedClasses + functions_->classes[j]] | 1;
    }
}

int64_t MixedWinograd::numbers_size() const {
  return aligned_floats(depths() * all_rows_ * kMixedDepth);
}

bool MixedWinograd::transforms_together() const {
  return problem_.threads > kThreadsAlone;
}

MixedWinograd::WorkerMemory MixedWinograd::worker_memory() const {
  WorkerMemory m;
  m.tile = aligned_floats(all_rows_ * kMixedPanel);
  m.weights = m.tile + 16 * kMixedPanel;
  m.numbers = m.weights + 4 * 3 * kMixedDepth * kMixedPanel;
  // Before the numbers, which block's they are.
  if (!transforms_together()) m.numbers += kFloatsAligned;
  const int64_t floats = m.numbers + (transforms_together() ? 0 : numbers_size());
  m.size =
      static_cast<int64_t>(worker_stride(floats * sizeof(float), problem_.threads) / sizeof(float));
  return m;
}

size_t MixedWinograd::scratch_bytes() const {
  int64_t floats = worker_memory().size * problem_.threads;
  if (transforms_together()) floats += static_cast<int64_t>(blocks_.size()) * numbers_size();
  return static_cast<size_t>(floats) * sizeof(float);
}

size_t MixedWinograd::fetch_capacity() const {
  if (blocks_.empty() || blocks_[0].rows[0] < kRowsThatFetch) return 0;
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
                     .rows = rows_,
                     .to = to,
                     .depth_stride = all_rows_ * kMixedDepth});
}

void MixedWinograd::transform_all(const ConvArguments& arguments, ThreadPool& pool,
                                  float* to) const {
  const int64_t size = numbers_size();
  pool.for_each(shape_.tiles(), 1, [&](int64_t tile) {
    transform(arguments, tile, 1, to + tile / block_tiles_ * size);
  });
}

int64_t MixedWinograd::calls(const MixedPlaces& rows, int column, const MixedSet& set) const {
  int64_t most = 0;
  for (int q = 0; q < set.count; ++q)
    most = std::max<int64_t>(
        most,
        rows[functions_->classes[set.forms[q]] * kMixedClasses + functions_->classes[column]]);
  return ceil_div(most, set.rows_at_once);
}

void MixedWinograd::Fetches::give(MixedProduct& product) {
  product.fetch = at[turn], product.fetch_step = step[turn];
  at[turn] += step[turn] * product.k;
  turn = (turn + 1) % count;
}

/// All forms of rows with one form of columns.
void MixedWinograd::multiply_column(const MixedBlock& block, int column, const float* numbers,
                                    float* sums, MixedProduct& product, Fetches& fetches) const {
  const int* classes = functions_->classes;
  for (int s = 0; s < functions_->set_count; ++s) {
    const MixedSet& set = functions_->sets[s];
    const int64_t count = calls(block.rows, column, set);
    for (int64_t call = 0; call < count; ++call) {
      int rows[3] = {};
      for (int q = 0; q < set.count; ++q) {
        const int form = set.forms[q];
        const Share share(block.rows[classes[form] * kMixedClasses + classes[column]], call, count);
        const int64_t row = rows_[form * kMixedForms + column] + share.first;
        rows[q] = static_cast<int>(share.count);
        product.numbers[q] = numbers + row * kMixedDepth;
        product.sums[q] = sums + row * kMixedPanel;
      }
      fetches.give(product);
      functions_->product(s, rows)(product);
    }
  }
}

void MixedWinograd::multiply(const MixedBlock& block, const float* plain, const float* numbers,
                             float* memory, std::span<const std::byte> ahead) const {
  float* formed = memory + worker_memory().weights;
  int64_t all = 0;
  for (int column = 0; column < kMixedForms; ++column)
    for (int s = 0; s < functions_->set_count; ++s)
      all += calls(block.rows, column, functions_->sets[s]);
  const bool both = !ahead.empty();
  // Without `ahead` there are few products, and transforming the weights takes its share.
  const int64_t own_calls = both ? ceil_div(all, 2) : all + kTransformCalls;
  Fetches fetches{.at = {nullptr, reinterpret_cast<const char*>(ahead.data())},
                  .step = {ceil_div(kPlain * 4, own_calls),
                           ceil_div(static_cast<int64_t>(ahead.size()),
                                    std::max<int64_t>(1, all / 2) * shape_.channels)},
                  .count = both ? 2 : 1};
  MixedProduct product{};
  for (int64_t c = 0; c < shape_.channels; c += kMixedDepth) {
    const int64_t k = std::min(kMixedDepth, shape_.channels - c);
    const float* next = plain + k * kPlain;
    const char* fetch = reinterpret_cast<const char*>(next);
    const int64_t transform_step = both ? 0 : kTransformCalls * fetches.step[0];
    functions_->weights({plain, formed, k, fetch, transform_step});
    fetches.at[0] = fetch + transform_step * k;
    fetches.turn = 0;
    product.k = k;
    product.adds = c > 0;
    const float* other = formed;
    for (int column = 0; column < kMixedForms; ++column) {
      const int tap = functions_->taps[column];
      product.weights = tap < 0 ? other : plain + tap * kMixedPanel;
      product.k_stride = (tap < 0 ? 3 : 9) * kMixedPanel;
      product.row_stride = (tap < 0 ? 1 : 3) * kMixedPanel;
      if (tap < 0) other += 3 * kMixedDepth * kMixedPanel;
      multiply_column(block, column, numbers, memory, product, fetches);
    }
    plain = next;
    numbers += all_rows_ * kMixedDepth;
  }
}

void MixedWinograd::finish(const ConvArguments& arguments, const MixedBlock& block, int64_t channel,
                           float* memory) const {
  WinogradOutput output = epilogue_of(problem_, registers_, finish_, shape_, arguments);
  output.sums = memory;
  output.tile_stride = kMixedPanel;
  output.first = block.first;
  output.count = block.count;
  output.channel = channel;
  output.channels = std::min(kMixedPanel, shape_.filters - channel);
  output.tile = memory + worker_memory().tile;
  functions_->output(output, places_.data(), rows_);
}

void MixedWinograd::run_task(const ConvArguments& arguments, int64_t task, const float* numbers,
                             float* memory) const {
  const MixedBlock& block = blocks_[task / panels()];
  const int64_t panel = task % panels();
  const float* plain =
      reinterpret_cast<const float*>(packed_.at(0)) + panel * shape_.channels * kPlain;
  const auto ahead =
      arguments.ahead.empty() ? arguments.ahead : part_of(arguments.ahead, task, tasks());
  multiply(block, plain, numbers, memory, ahead);
  finish(arguments, block, panel * kMixedPanel, memory);
}

void MixedWinograd::run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const {
  const WorkerMemory at = worker_memory();
  float* memory = static_cast<float*>(scratch);
  float* all = memory + at.size * problem_.threads;
  if (transforms_together()) transform_all(arguments, pool, all);
  const auto own_block = [&](int worker) {
    return reinterpret_cast<int64_t*>(memory + worker * at.size + at.numbers - kFloatsAligned);
  };
  if (!transforms_together())
    for (int worker = 0; worker < problem_.threads; ++worker) *own_block(worker) = -1;
  // Tasks run over channels fastest: neighbours share tiles.
  pool.for_each(tasks(), 1, [&](int64_t task, int worker) {
    float* own = memory + worker * at.size;
    const int64_t block = task / panels();
    if (transforms_together()) return run_task(arguments, task, all + block * numbers_size(), own);
    if (*own_block(worker) != block)
      transform(arguments, blocks_[block].first, blocks_[block].count, own + at.numbers);
    *own_block(worker) = block;
    run_task(arguments, task, own + at.numbers, own);
  });
}

}  // namespace tenon::cpu
