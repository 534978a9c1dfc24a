// One row of a rotary embedding; included once (after <bit>, <cstdint>, <cstring> and rotary.h) per
// instruction set, inside a namespace of that set's own. The compiler vectorizes the loops.

#include "kernels/vector_math/widen_body.h"

template <class T> void row_of(const RotaryRow& row) {
  const auto *x = static_cast<const T*>(row.x), *cos = static_cast<const T*>(row.cos),
             *sin = static_cast<const T*>(row.sin);
  auto* __restrict y = static_cast<T*>(row.y);
  const int64_t half = row.rotated / 2;
  const int64_t step = row.interleaved ? 2 : 1, partner = row.interleaved ? 1 : half;
  for (int64_t i = 0; i < half; ++i) {
    const float a = widen(x[i * step]), b = widen(x[i * step + partner]), c = widen(cos[i]),
                s = widen(sin[i]);
    narrow(c * a - s * b, y[i * step]);
    narrow(s * a + c * b, y[i * step + partner]);
  }
  std::memcpy(y + row.rotated, x + row.rotated,
              static_cast<size_t>(row.size - row.rotated) * sizeof(T));
}

inline void rotate(const RotaryRow& row) {
  row.type == ElementType::f32 ? row_of<float>(row) : row_of<uint16_t>(row);
}
