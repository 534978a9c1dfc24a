#pragma once

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/quantized/weight_product.h"

/// The kernel over any instruction set; included by one source of each. B (vector_math/bytes_*.h)
/// converts.
namespace tenon::cpu {
namespace {

template <class B> struct WeightColumns {
  using V = typename B::Vector;
  static constexpr int kVectors = kWeightPanel / V::kWidth;
  V v[kVectors];

  /// One step of the depth, without its zero point.
  template <bool kNibbles>
  [[gnu::always_inline]] static WeightColumns of(const std::byte* from, bool is_signed,
                                                 float zero) {
    WeightColumns w;
    const auto* bytes = reinterpret_cast<const uint8_t*>(from);
    if constexpr (kNibbles) {
      (void)is_signed;
      for (int i = 0; i < kVectors / 2; ++i)
        B::from_nibbles(bytes + i * V::kWidth, zero, w.v[i], w.v[kVectors / 2 + i]);
    } else {
      const V at_zero = V::broadcast(zero);
      for (int i = 0; i < kVectors; ++i) {
        const uint8_t* at = bytes + i * V::kWidth;
        const V number =
            is_signed ? B::from_i8(reinterpret_cast<const int8_t*>(at)) : B::from_u8(at);
        w.v[i] = number - at_zero;
      }
    }
    return w;
  }
};

/// Sums over one block, `kApart` steps of the depth at a time, so that additions do not wait for
/// each other.
template <class B, bool kNibbles, int kRows>
[[gnu::always_inline]] inline void weight_block(const WeightForm& f, const WeightTile& t,
                                                int64_t block, const std::byte* from) {
  using V = typename B::Vector;
  using Columns = WeightColumns<B>;
  constexpr int kVectors = Columns::kVectors;
  constexpr int kApart = kVectors > 2 || kRows > 4 ? 1 : 4 / kRows;
  const auto* scales = reinterpret_cast<const float*>(from);
  const float* zeros = scales + kWeightPanel;
  const std::byte* weights = from + f.scale_bytes();
  const int64_t first = block * f.block, count = std::min(f.block, f.depth - first);
  const int64_t step = f.step_bytes();
  V part[kApart][kRows][kVectors];
  for (auto& rows : part)
    for (auto& row : rows)
      for (V& sum : row) sum = V::zero();
  const auto add = [&](int64_t k, V(&sums)[kRows][kVectors]) __attribute__((always_inline)) {
    const Columns w = Columns::template of<kNibbles>(weights + k * step, f.is_signed, f.zero);
#pragma GCC unroll 8
    for (int r = 0; r < kRows; ++r) {
      const V x = V::broadcast(t.x[r * t.x_stride + first + k]);
      for (int i = 0; i < kVectors; ++i) sums[r][i] = fma(x, w.v[i], sums[r][i]);
    }
  };
  int64_t k = 0;
  for (; k + kApart <= count; k += kApart)
#pragma GCC unroll 4
    for (int u = 0; u < kApart; ++u) add(k + u, part[u]);
  for (; k < count; ++k) add(k, part[0]);
  for (int r = 0; r < kRows; ++r)
    for (int i = 0; i < kVectors; ++i) {
      V sum = part[0][r][i];
      for (int u = 1; u < kApart; ++u) sum = sum + part[u][r][i];
      if (f.has_zeros)
        sum = sum -
              V::load(zeros + i * V::kWidth) * V::broadcast(t.block_sums[r * f.blocks() + block]);
      float* to = t.sums + r * kWeightPanel + i * V::kWidth;
      fma(sum, V::load(scales + i * V::kWidth), V::load(to)).store(to);
    }
}

template <class B, bool kNibbles, int kRows>
void weight_rows(const WeightForm& f, const WeightTile& t) {
  std::memset(t.sums, 0, sizeof(float) * kRows * kWeightPanel);
  const std::byte* from = t.panel;
  for (int64_t block = 0; block < f.blocks(); ++block) {
    weight_block<B, kNibbles, kRows>(f, t, block, from);
    from += f.scale_bytes() + std::min(f.block, f.depth - block * f.block) * f.step_bytes();
  }
}

/// Steps of a panel as floats, one after the other.
template <class V> class FloatPanel {
 public:
  FloatPanel(void* to, int64_t width) : to_(static_cast<float*>(to)), width_(width) {}
  /// Takes one step or more of so many, whose vectors `at(step, i)` gives; returns how many.
  template <class At> [[gnu::always_inline]] int64_t take(int64_t, int count, const At& at) {
    for (int i = 0; i < count; ++i) at(0, i).store(to_ + i * V::kWidth);
    to_ += width_;
    return 1;
  }
  void end(int) {}

 private:
  float* to_;
  int64_t width_;
};

/// As bf16, two steps of a column side by side; an odd last one beside zeros.
template <class V> class PairPanel {
 public:
  PairPanel(void* to, int64_t width) : to_(static_cast<uint16_t*>(to)), width_(width) {}
  template <class At> [[gnu::always_inline]] int64_t take(int64_t left, int count, const At& at) {
    if (left > 1 && !is_half_) {
      for (int i = 0; i < count; ++i)
        V::store_bf16_pairs(to_ + 2 * i * V::kWidth, at(0, i), at(1, i));
      to_ += 2 * width_;
      return 2;
    }
    for (int i = 0; i < count; ++i) add_half(at(0, i), to_ + 2 * i * V::kWidth);
    if (is_half_) to_ += 2 * width_;
    is_half_ = !is_half_;
    return 1;
  }
  void end(int count) {
    if (is_half_) take(1, count, [](int, int) { return V::zero(); });
  }

 private:
  void add_half(V weights, uint16_t* to) const {
    uint16_t half[V::kWidth];
    weights.store_bf16(half);
    for (int c = 0; c < V::kWidth; ++c) to[2 * c + is_half_] = half[c];
  }

  uint16_t* to_;
  int64_t width_;
  bool is_half_ = false;  ///< The last step had no other beside it.
};

/// Vectors [first, first + count) of a part's steps.
template <class B, bool kNibbles, class Panel>
[[gnu::always_inline]] inline void unpack_vectors(const WeightForm& f, const WeightPart& part,
                                                  int first, int count) {
  using V = typename B::Vector;
  using Columns = WeightColumns<B>;
  Panel panel(part.to, part.width);
  const int64_t step = f.step_bytes(), end = part.k + part.count;
  for (int64_t k = part.k; k < end;) {
    const int64_t block = k / f.block, block_end = std::min((block + 1) * f.block, end);
    const std::byte* from = part.panel + block * (f.scale_bytes() + f.block * step);
    const auto* scales = reinterpret_cast<const float*>(from);
    const std::byte* weights = from + f.scale_bytes() + (k - block * f.block) * step;
    V scale[Columns::kVectors], zero[Columns::kVectors];
    for (int i = 0; i < Columns::kVectors; ++i) {
      scale[i] = V::load(scales + i * V::kWidth);
      zero[i] = f.has_zeros ? V::load(scales + kWeightPanel + i * V::kWidth) : V::zero();
    }
    for (int64_t taken; k < block_end; k += taken, weights += taken * step) {
      const Columns w[] = {Columns::template of<kNibbles>(weights, f.is_signed, f.zero),
                           Columns::template of<kNibbles>(weights + (k + 1 < block_end ? step : 0),
                                                          f.is_signed, f.zero)};
      taken = panel.take(block_end - k, count, [&](int ahead, int i) {
        return (w[ahead].v[first + i] - zero[first + i]) * scale[first + i];
      });
    }
  }
  panel.end(count);
}

/// A whole panel and its halves have code of their own.
template <class B, bool kNibbles, class Panel>
void unpack_part(const WeightForm& f, const WeightPart& part) {
  constexpr int kVectors = WeightColumns<B>::kVectors, kWidth = B::Vector::kWidth;
  const int first = static_cast<int>(part.column) / kWidth;
  const int count = static_cast<int>(part.width) / kWidth;
  if (count == kVectors) return unpack_vectors<B, kNibbles, Panel>(f, part, 0, kVectors);
  if (2 * count != kVectors) return unpack_vectors<B, kNibbles, Panel>(f, part, first, count);
  if (first == 0) return unpack_vectors<B, kNibbles, Panel>(f, part, 0, kVectors / 2);
  unpack_vectors<B, kNibbles, Panel>(f, part, kVectors / 2, kVectors / 2);
}

template <class B> void weight_unpack(const WeightForm& f, const WeightPart& part) {
  using Floats = FloatPanel<typename B::Vector>;
  using Pairs = PairPanel<typename B::Vector>;
  if (part.pairs)
    f.nibbles ? unpack_part<B, true, Pairs>(f, part) : unpack_part<B, false, Pairs>(f, part);
  else
    f.nibbles ? unpack_part<B, true, Floats>(f, part) : unpack_part<B, false, Floats>(f, part);
}

template <class B, int... kLess>
void weight_tile_of(const WeightForm& f, const WeightTile& t,
                    std::integer_sequence<int, kLess...>) {
  using Function = void (*)(const WeightForm& form, const WeightTile& tile);
  static constexpr Function kNibbles[] = {weight_rows<B, true, kLess + 1>...};
  static constexpr Function kBytes[] = {weight_rows<B, false, kLess + 1>...};
  (f.nibbles ? kNibbles : kBytes)[t.rows - 1](f, t);
}

template <class B> void weight_tile(const WeightForm& f, const WeightTile& t) {
  weight_tile_of<B>(f, t, std::make_integer_sequence<int, kWeightRows>());
}

}  // namespace
}  // namespace tenon::cpu
