#pragma once

#include "kernels/conv/gather.h"

/// The GatherFunction over any vector type; included by one source an instruction set.
namespace tenon::cpu {
namespace {

template <class V> struct Copy {
  [[gnu::always_inline]] static void run(const float* from, float* to, int64_t n) {
    for (; n >= V::kWidth; n -= V::kWidth, from += V::kWidth, to += V::kWidth)
      V::load(from).store(to);
    if (n > 0) V::load(from, static_cast<int>(n)).store(to, static_cast<int>(n));
  }
  [[gnu::always_inline]] static void run(const uint16_t* from, float* to, int64_t n) {
    for (; n >= V::kWidth; n -= V::kWidth, from += V::kWidth, to += V::kWidth)
      V::load_bf16(from).store(to);
    if (n > 0) V::load_bf16(from, static_cast<int>(n)).store(to, static_cast<int>(n));
  }
  [[gnu::always_inline]] static void run(const float* from, uint16_t* to, int64_t n) {
    for (; n >= V::kWidth; n -= V::kWidth, from += V::kWidth, to += V::kWidth)
      V::load(from).store_bf16(to);
    if (n > 0) V::load(from, static_cast<int>(n)).store_bf16(to, static_cast<int>(n));
  }
  [[gnu::always_inline]] static void run(const uint16_t* from, uint16_t* to, int64_t n) {
    __builtin_memcpy(to, from, static_cast<size_t>(n) * sizeof(uint16_t));
  }
  [[gnu::always_inline]] static void zero(float* to, int64_t n) {
    for (; n >= V::kWidth; n -= V::kWidth, to += V::kWidth) V::zero().store(to);
    if (n > 0) V::zero().store(to, static_cast<int>(n));
  }
  [[gnu::always_inline]] static void zero(uint16_t* to, int64_t n) {
    __builtin_memset(to, 0, static_cast<size_t>(n) * sizeof(uint16_t));
  }
};

template <class V, class From, class To> struct GatherRows {
  const Gather& g;
  const From* input;

  struct Position {
    int64_t image, depth, height, column;
  };

  Position position(int64_t row) const {
    Position p;
    p.column = row % g.rows[2], row /= g.rows[2];
    p.height = row % g.rows[1], row /= g.rows[1];
    p.depth = row % g.rows[0];
    p.image = row / g.rows[0];
    return p;
  }

  void advance(Position& p) const {
    if (++p.column < g.rows[2]) return;
    p.column = 0;
    if (++p.height < g.rows[1]) return;
    p.height = 0;
    if (++p.depth < g.rows[0]) return;
    p.depth = 0;
    ++p.image;
  }

  static int64_t clamp(int64_t x, int64_t low, int64_t high) {
    return x < low ? low : x > high ? high : x;
  }

  void all(int64_t row, int64_t rows, int64_t k, int64_t count, To* to, int64_t to_stride) const {
    const int64_t padding = (g.k_unit - count % g.k_unit) % g.k_unit;
    Position p = position(row);
    for (int64_t r = 0; r < rows; ++r, to += to_stride, advance(p)) {
      one(p, k, count, to);
      for (int64_t i = 0; i < padding; ++i) to[count + i] = To{};
    }
  }

  bool all_inside(const Spatial& base) const {
    bool inside = true;
    for (int i = 0; i < 3; ++i)
      inside &= base[i] + g.lowest[i] >= 0 && base[i] + g.highest[i] < g.input[i];
    return inside;
  }

  void one(const Position& p, int64_t k, int64_t count, To* to) const {
    if (count == 0) return;
    const int64_t depth = p.depth * g.step[0] + g.origin[0];
    const int64_t height = p.height * g.step[1] + g.origin[1];
    const int64_t column = p.column * g.step[2] + g.origin[2];
    const int64_t base = p.image * g.image_stride + depth * g.depth_stride +
                         height * g.height_stride + column * g.column_stride;
    const int64_t length = g.run_length(), end = k + count;
    if (k == 0 && count == g.k() && all_inside({depth, height, column})) {
      for (const GatherRun& run : g.runs) {
        Copy<V>::run(input + base + run.offset, to, length);
        to += length;
      }
      return;
    }
    for (int64_t at = k; at < end;) {
      const int64_t index = at / length, skip = at - index * length;
      const int64_t stop = end - at < length - skip ? skip + end - at : length;
      const GatherRun& run = g.runs[index];
      const int64_t first = column + run.column;
      int64_t low = clamp(-first, 0, g.width) * g.unit;
      int64_t high = clamp(g.input[2] - first, 0, g.width) * g.unit;
      const bool inside = static_cast<uint64_t>(depth + run.depth) < uint64_t(g.input[0]) &&
                          static_cast<uint64_t>(height + run.height) < uint64_t(g.input[1]);
      if (!inside) low = high = stop;
      low = clamp(low, skip, stop);
      high = clamp(high, low, stop);
      if (low > skip) Copy<V>::zero(to, low - skip);
      Copy<V>::run(input + base + run.offset + low, to + low - skip, high - low);
      if (stop > high) Copy<V>::zero(to + high - skip, stop - high);
      to += stop - skip;
      at += stop - skip;
    }
  }
};

template <class V>
void gather_rows(const Gather& g, const void* input, int64_t row, int64_t rows, int64_t k,
                 int64_t count, void* to, int64_t to_stride) {
  const auto with = [&]<class From, class To>(From*, To*) {
    GatherRows<V, From, To>{g, static_cast<const From*>(input)}.all(
        row, rows, k, count, static_cast<To*>(to), to_stride);
  };
  constexpr float* kFloat = nullptr;
  constexpr uint16_t* kBf16 = nullptr;
  if (g.from == ElementType::f32)
    g.to == ElementType::f32 ? with(kFloat, kFloat) : with(kFloat, kBf16);
  else
    g.to == ElementType::f32 ? with(kBf16, kFloat) : with(kBf16, kBf16);
}

}  // namespace
}  // namespace tenon::cpu
