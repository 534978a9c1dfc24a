#include "kernels/gemm/pack.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace tenon::cpu {
namespace {

template <class To, class From>
inline To convert(From x) {
  if constexpr (std::is_same_v<To, From>) {
    return x;
  } else if constexpr (std::is_same_v<To, float>) {
    return bf16_to_float(x);
  } else {
    return float_to_bf16(x);
  }
}

// The index of a column is the innermost of the loops, so that a row-major B is read along its
// rows.
template <class To, class From>
void pack_panel(const From* b, int64_t row_stride, int64_t column_stride, int64_t k,
                int64_t columns, int64_t panel, int64_t unit, To* to) {
  for (int64_t step = 0; step < k; step += unit, to += panel * unit) {
    for (int64_t u = 0; u < unit; ++u) {
      const From* row = b + (step + u) * row_stride;
      const int64_t valid = step + u < k ? columns : 0;
      if (column_stride == 1) {
        for (int64_t c = 0; c < valid; ++c) to[c * unit + u] = convert<To>(row[c]);
      } else {
        for (int64_t c = 0; c < valid; ++c) to[c * unit + u] = convert<To>(row[c * column_stride]);
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
template <class F>
void with_types(ElementType to, ElementType from, F f) {
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
