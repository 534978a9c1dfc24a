#include <immintrin.h>

#include <algorithm>

#include "kernels/gemm/microkernel_body.h"
#include "kernels/gemm/microkernel_tables.h"
#include "kernels/gemm/tiles_amx.h"
#include "kernels/vector_math/vector_avx512.h"

/// Products of floats by tiles of bf16. A float is the sum of three bf16, its leading, middle and
/// last eight bits; of the nine products of two such sums the six largest count, so that a product
/// is off by 2^-24 of itself, as much as a rounded one. An infinity becomes no number, and parts
/// below the least normal float are 0.
namespace tenon::cpu {
namespace {

using Vector = vector_math::F32x16;

constexpr int kDepth = 32;  ///< Steps of k that a tile multiplies.
constexpr int kPanel = 32;
constexpr int kParts = 3;
constexpr int kMostTiles = 2;
constexpr int kVector = 16;
constexpr int64_t kPartOfB = kDepth * kPanel * sizeof(uint16_t);
constexpr int64_t kStepOfB =
    2 * kPanel * sizeof(uint16_t);  ///< From one pair of steps to the next.

/// Three parts of 16 floats, in the upper halves of their words.
struct Split {
  __m512i parts[kParts];

  [[gnu::always_inline]] explicit Split(__m512 x) {
    const __m512i upper = _mm512_set1_epi32(static_cast<int>(0xffff0000u));
    const __m512i half = _mm512_set1_epi32(0x8000);
    parts[0] = _mm512_and_si512(_mm512_castps_si512(x), upper);
    const __m512 rest = _mm512_sub_ps(x, _mm512_castsi512_ps(parts[0]));
    parts[1] = _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(rest), half), upper);
    parts[2] = _mm512_castps_si512(_mm512_sub_ps(rest, _mm512_castsi512_ps(parts[1])));
  }
};

/// The upper halves of two words side by side.
[[gnu::always_inline]] inline __m512i join(__m512i first, __m512i second) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, _mm512_srli_epi32(first, 16), second);
}

/// Up to 16 floats; the others are 0.
[[gnu::always_inline]] inline __m512 load(const float* from, int64_t count) {
  return _mm512_maskz_loadu_ps(
      static_cast<__mmask16>((1u << std::clamp<int64_t>(count, 0, kVector)) - 1), from);
}

/// Rows of A, all parts of kDepth steps side by side: of these a step and the one kVector further
/// are a pair.
void prepare_rows(const float* a, int64_t stride, int64_t rows, int64_t k, float* to,
                  int64_t to_stride) {
  for (int64_t r = 0; r < rows; ++r, a += stride, to += to_stride) {
    float* part = to;
    for (int64_t at = 0; at < k; at += kDepth) {
      const bool whole = at + kDepth <= k;
      const Split first(whole ? _mm512_loadu_ps(a + at) : load(a + at, k - at));
      const Split second(whole ? _mm512_loadu_ps(a + at + kVector)
                               : load(a + at + kVector, k - at - kVector));
      for (int p = 0; p < kParts; ++p, part += kVector)
        _mm512_storeu_si512(part, join(first.parts[p], second.parts[p]));
    }
  }
}

/// A panel of B, part by part of kDepth steps, whose pairs are those of A.
void prepare_panel(const float* b, int64_t k, void* to) {
  auto* chunk = static_cast<std::byte*>(to);
  for (int64_t at = 0; at < k; at += kDepth, chunk += kParts * kPartOfB, b += kDepth * kPanel)
    for (int64_t i = 0; i < kVector; ++i)
      for (int64_t c = 0; c < kPanel; c += kVector) {
        const int64_t left = k - at - i;
        const float* from = b + i * kPanel + c;
        const Split first(left > 0 ? _mm512_loadu_ps(from) : _mm512_setzero_ps());
        const Split second(left > kVector ? _mm512_loadu_ps(from + kVector * kPanel)
                                          : _mm512_setzero_ps());
        for (int p = 0; p < kParts; ++p)
          _mm512_store_si512(chunk + p * kPartOfB + i * kStepOfB + c * sizeof(float),
                             join(first.parts[p], second.parts[p]));
      }
}

/// Sums are tiles 0 to 3, two of a row of tiles side by side.
template <int kTiles> [[gnu::always_inline]] inline void multiply_parts() {
  _tile_dpbf16ps(0, 4, 6);
  _tile_dpbf16ps(1, 4, 7);
  if constexpr (kTiles == 2) {
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
  }
}
/// The operands of kDepth steps of k.
template <int kTiles> struct Step {
  const std::byte *a, *b;
  int64_t a_bytes;  ///< From one row to the next.

  [[gnu::always_inline]] void load_a(int part) const {
    _tile_loadd(4, a + part * kTileBytes, a_bytes);
    if constexpr (kTiles == 2) _tile_loadd(5, a + part * kTileBytes + kTileRows * a_bytes, a_bytes);
  }
  [[gnu::always_inline]] void load_b(int part) const {
    _tile_loadd(6, b + part * kPartOfB, kStepOfB);
    _tile_loadd(7, b + part * kPartOfB + kTileBytes, kStepOfB);
  }
  [[gnu::always_inline]] void multiply() const {
    load_b(0);
    load_a(0);
    multiply_parts<kTiles>();
  }
  [[gnu::always_inline]] void multiply_split() const {
    load_b(0);
    for (int part : {2, 1, 0}) {
      load_a(part);
      multiply_parts<kTiles>();
    }
    load_b(2);
    multiply_parts<kTiles>();
    load_b(1);
    multiply_parts<kTiles>();
    load_a(1);
    multiply_parts<kTiles>();
  }
};

/// Where the sums of a tile begin or end, and the bytes from one row to the next.
struct Sums {
  const void* data;
  int64_t row_bytes;
};

template <int kTiles> void product(const Tile& t, const Sums& start, const Sums& end) {
  start.data != nullptr ? load_sums<kTiles>(start.data, start.row_bytes) : clear_sums<kTiles>();
  Step<kTiles> step{static_cast<const std::byte*>(t.a), static_cast<const std::byte*>(t.b),
                    t.a_stride * static_cast<int64_t>(sizeof(float))};
  const char* ahead = static_cast<const char*>(t.prefetch);
  for (int64_t k = 0; k < t.k; k += kDepth) {
    step.multiply_split();
    step.a += kParts * kTileBytes;
    step.b += kParts * kPartOfB;
    for (int64_t at = 0; at < kDepth * t.prefetch_step; at += kTileBytes)
      __builtin_prefetch(ahead + at, 0, 2);
    ahead += kDepth * t.prefetch_step;
  }
  store_sums<kTiles>(const_cast<void*>(end.data), end.row_bytes);
}

/// Of bf16 as they lie in memory. What a tile has beyond the rows or the last step is 0.
struct Bf16Operands {
  static constexpr int64_t kUnits = kDepth / 2;  ///< Pairs of steps.
  const Tile& t;
  alignas(64) std::byte rows[kMostTiles * kTileRows * kTileBytes] = {};
  alignas(64) std::byte panel[kPartOfB] = {};

  template <int kTiles> Step<kTiles> at(int64_t k) {
    const int64_t units = std::min(kUnits, t.k - k), a_bytes = t.a_stride * 2;
    Step<kTiles> step{static_cast<const std::byte*>(t.a) + k * 4,
                      static_cast<const std::byte*>(t.b) + k * kStepOfB, a_bytes};
    if (units < kUnits) step.b = std::copy_n(step.b, units * kStepOfB, panel) - units * kStepOfB;
    if (units == kUnits && t.rows == kTiles * kTileRows) return step;
    const auto mask = static_cast<__mmask16>((1u << units) - 1);
    for (int r = 0; r < t.rows; ++r)
      _mm512_store_si512(rows + r * kTileBytes,
                         _mm512_maskz_loadu_epi32(mask, step.a + r * a_bytes));
    finish_stores(rows);
    finish_stores(panel);
    return {rows, step.b, kTileBytes};
  }
};

template <int kTiles> void product_bf16(const Tile& t, const Sums& start, const Sums& end) {
  start.data != nullptr ? load_sums<kTiles>(start.data, start.row_bytes) : clear_sums<kTiles>();
  Bf16Operands operands{t};
  const char* ahead = static_cast<const char*>(t.prefetch);
  for (int64_t k = 0; k < t.k; k += Bf16Operands::kUnits) {
    operands.at<kTiles>(k).multiply();
    for (int64_t at = 0; at < Bf16Operands::kUnits * t.prefetch_step; at += kTileBytes)
      __builtin_prefetch(ahead + at, 0, 2);
    ahead += Bf16Operands::kUnits * t.prefetch_step;
  }
  store_sums<kTiles>(const_cast<void*>(end.data), end.row_bytes);
}

/// One row of the tile, whose sums are in memory.
template <bool kFull> void finish_row(const Tile& t, const float* sums) {
  using Row = TileKernel<FloatProduct<Vector>, 1, 2, 2>;
  Vector x[1][2];
  Row::start<kFull>(t, x);
  for (int v = 0; v < 2; ++v) x[0][v] = x[0][v] + Vector::load(sums + v * kVector);
  Row::finish<kFull>(t, x);
}

void finish(Tile t, const float* sums) {
  const int64_t size = element_size(t.output_type);
  for (int r = 0; r < t.rows; ++r, sums += kPanel) {
    t.columns == kPanel ? finish_row<true>(t, sums) : finish_row<false>(t, sums);
    t.output = static_cast<std::byte*>(t.output) + t.output_stride * size;
    if (t.initial != nullptr) t.initial += t.initial_stride;
    if (t.residual != nullptr)
      t.residual = static_cast<const std::byte*>(t.residual) + t.residual_stride * size;
  }
}

template <bool kSplit> void run(const Tile& t) {
  constexpr int64_t kSize = sizeof(float);
  alignas(64) float sums[kMostTiles * kTileRows * kPanel];
  const bool is_full = t.columns == kPanel;
  // Earlier sums are there for whole tiles, but a bias ends with the last column.
  const bool starts = t.initial != nullptr && (is_full || t.initial_stride != 0);
  const bool ends = is_full && t.rows % kTileRows == 0 && t.residual == nullptr &&
                    t.activation == RegisterActivation::none && t.output_type == ElementType::f32;
  const Sums start = starts ? Sums{t.initial, t.initial_stride * kSize} : Sums{};
  const Sums end = ends ? Sums{t.output, t.output_stride * kSize} : Sums{sums, kPanel * kSize};
  if constexpr (kSplit)
    t.rows > kTileRows ? product<2>(t, start, end) : product<1>(t, start, end);
  else
    t.rows > kTileRows ? product_bf16<2>(t, start, end) : product_bf16<1>(t, start, end);
  if (ends) return;
  Tile rest = t;
  if (starts) rest.initial = nullptr;
  finish(rest, sums);
}

constexpr Preparation kPreparation = {.element_bytes = kParts * sizeof(uint16_t),
                                      .depth = kDepth,
                                      .k_block = 128,
                                      .row_block = 256,
                                      .row_time = 24,
                                      .column_time = 18,
                                      .rows = prepare_rows,
                                      .panel = prepare_panel};

}  // namespace

const Microkernels kMicrokernelsAmxF32 = {.isa = Isa::avx512_bf16,
                                          .type = ElementType::f32,
                                          .k_unit = 1,
                                          .panel = kPanel,
                                          .max_rows = kMostTiles * kTileRows,
                                          .wide_rows = 0,
                                          .run = run<true>,
                                          .row_unit = kTileRows,
                                          .depth = kDepth,
                                          .preparation = &kPreparation,
                                          .begin = begin_tiles,
                                          .end = end_tiles};

const Microkernels kMicrokernelsAmxBf16 = {.isa = Isa::avx512_bf16,
                                           .type = ElementType::bf16,
                                           .k_unit = 2,
                                           .panel = kPanel,
                                           .max_rows = kMostTiles * kTileRows,
                                           .wide_rows = 0,
                                           .run = run<false>,
                                           .row_unit = kTileRows,
                                           .depth = kDepth,
                                           .begin = begin_tiles,
                                           .end = end_tiles};

}  // namespace tenon::cpu
