#include "kernels/gemm/pack.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

namespace tenon::cpu {
namespace {

template <class To, class From> inline To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, float>) {
    return bf16_to_float(x);
  } else {
    return float_to_bf16(x);
  }
}

using Words = uint32_t __attribute__((vector_size(16)));

inline Words load_words(const char* from) {
  Words words;
  std::memcpy(&words, from, sizeof(words));
  return words;
}

/// Four columns of four words each, `stride` bytes apart, to rows of `panel` words.
inline void transpose_words(const char* from, int64_t stride, char* to, int64_t panel) {
  const Words a = load_words(from), b = load_words(from + stride),
              c = load_words(from + 2 * stride), d = load_words(from + 3 * stride);
  const Words ab_low = __builtin_shuffle(a, b, Words{0, 4, 1, 5}),
              ab_high = __builtin_shuffle(a, b, Words{2, 6, 3, 7}),
              cd_low = __builtin_shuffle(c, d, Words{0, 4, 1, 5}),
              cd_high = __builtin_shuffle(c, d, Words{2, 6, 3, 7});
  const Words rows[] = {__builtin_shuffle(ab_low, cd_low, Words{0, 1, 4, 5}),
                        __builtin_shuffle(ab_low, cd_low, Words{2, 3, 6, 7}),
                        __builtin_shuffle(ab_high, cd_high, Words{0, 1, 4, 5}),
                        __builtin_shuffle(ab_high, cd_high, Words{2, 3, 6, 7})};
  for (int i = 0; i < 4; ++i)
    std::memcpy(to + i * panel * sizeof(uint32_t), &rows[i], sizeof(Words));
}

/// Columns that are contiguous, in whole words: the part that fits in blocks of four by four.
/// Returns how many steps and columns that is.
std::pair<int64_t, int64_t> pack_blocks(const char* b, int64_t column_bytes, int64_t words,
                                        int64_t columns, int64_t panel, char* to) {
  const int64_t steps = words / 4 * 4, whole = columns / 4 * 4;
  constexpr int64_t kWord = sizeof(uint32_t);
  for (int64_t c = 0; c < whole; c += 4)
    for (int64_t step = 0; step < steps; step += 4)
      transpose_words(b + c * column_bytes + step * kWord, column_bytes,
                      to + (step * panel + c) * kWord, panel);
  return {steps, whole};
}

// The index of a column is the innermost of the loops, so that a row-major B is read along its
// rows.
template <class To, class From>
void pack_panel(const From* b, int64_t row_stride, int64_t column_stride, int64_t k,
                int64_t columns, int64_t panel, int64_t unit, To* to) {
  std::pair<int64_t, int64_t> done{0, 0};  // Steps of `unit` and columns that are packed.
  if (std::is_same_v<To, From> && row_stride == 1 && unit * sizeof(To) == sizeof(uint32_t))
    done = pack_blocks(reinterpret_cast<const char*>(b), column_stride * sizeof(From), k / unit,
                       columns, panel, reinterpret_cast<char*>(to));
  for (int64_t step = 0; step < k; step += unit, to += panel * unit) {
    const int64_t first = step / unit < done.first ? done.second : 0;
    for (int64_t u = 0; u < unit; ++u) {
      const From* row = b + (step + u) * row_stride;
      const int64_t valid = step + u < k ? columns : 0;
      if (column_stride == 1) {
        for (int64_t c = first; c < valid; ++c) to[c * unit + u] = convert<To>(row[c]);
      } else {
        for (int64_t c = first; c < valid; ++c)
          to[c * unit + u] = convert<To>(row[c * column_stride]);
      }
      for (int64_t c = valid; c < panel; ++c) to[c * unit + u] = To{};
    }
  }
}

template <class To, class From>
void pack_row(const From* a, int64_t stride, int64_t k, int64_t padded, To* to) {
  if (stride == 1 && std::is_same_v<To, From>) {
    std::memcpy(to, a, k * sizeof(To));
  } else if (stride == 1) {
    for (int64_t i = 0; i < k; ++i) to[i] = convert<To>(a[i]);
  } else {
    for (int64_t i = 0; i < k; ++i) to[i] = convert<To>(a[i * stride]);
  }
  for (int64_t i = k; i < padded; ++i) to[i] = To{};
}

/// Calls f(To*, From*) with null pointers of the element types.
template <class F> void with_types(ElementType to, ElementType from, F f) {
  constexpr float* kFloat = nullptr;
  constexpr uint16_t* kBf16 = nullptr;
  if (to == ElementType::f32)
    from == ElementType::f32 ? f(kFloat, kFloat) : f(kFloat, kBf16);
  else
    from == ElementType::f32 ? f(kBf16, kFloat) : f(kBf16, kBf16);
}

}  // namespace

MatrixView MatrixView::at(int64_t row, int64_t column) const {
  MatrixView moved = *this;
  const int64_t offset = (row * row_stride + column * column_stride) * element_size(type);
  moved.data = static_cast<const char*>(data) + offset;
  return moved;
}

int64_t panel_stride(const Microkernels& kernels, int64_t k) {
  return (k + kernels.k_unit - 1) / kernels.k_unit * kernels.k_unit * kernels.panel;
}

size_t packed_bytes(const Microkernels& kernels, int64_t k, int64_t n) {
  const int64_t panels = (n + kernels.panel - 1) / kernels.panel;
  return static_cast<size_t>(panels * panel_stride(kernels, k) * element_size(kernels.type));
}

int packing_threads(size_t bytes, int threads) {
  constexpr size_t kLeast = size_t{1} << 20;  // Takes longer than to start threads.
  return bytes < kLeast ? 1 : threads;
}

void pack_panels(const Microkernels& kernels, const MatrixView& b, int64_t k, int64_t n,
                 int64_t first, int64_t last, void* packed) {
  const int64_t stride = panel_stride(kernels, k);
  with_types(kernels.type, b.type, [&]<class To, class From>(To*, From*) {
    for (int64_t p = first; p < last; ++p) {
      const int64_t column = p * kernels.panel;
      const From* from = static_cast<const From*>(b.data) + column * b.column_stride;
      pack_panel(from, b.row_stride, b.column_stride, k,
                 std::min<int64_t>(kernels.panel, n - column), kernels.panel, kernels.k_unit,
                 static_cast<To*>(packed) + p * stride);
    }
  });
}

void pack_rows(const Microkernels& kernels, const MatrixView& a, int64_t rows, int64_t k, void* to,
               int64_t to_stride) {
  const int64_t padded = (k + kernels.k_unit - 1) / kernels.k_unit * kernels.k_unit;
  with_types(kernels.type, a.type, [&]<class To, class From>(To*, From*) {
    for (int64_t r = 0; r < rows; ++r) {
      pack_row(static_cast<const From*>(a.data) + r * a.row_stride, a.column_stride, k, padded,
               static_cast<To*>(to) + r * to_stride);
    }
  });
}

float bf16_to_float(uint16_t bits) {
  return std::bit_cast<float>(uint32_t{bits} << 16);
}

uint16_t float_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if (value != value) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

}  // namespace tenon::cpu
