// One pixel of pooling; included once (after <algorithm>, <bit>, <cstdint>, <limits>) per
// instruction set, inside a namespace of that set's own. The loops over channels are what the
// compiler vectorizes.

constexpr int64_t kBlock = 64;  // Channels kept in registers.

inline float widen(float value) {
  return value;
}
inline float widen(uint16_t value) {
  return std::bit_cast<float>(static_cast<uint32_t>(value) << 16);
}

inline void narrow(float value, float& to) {
  to = value;
}
/// Round to nearest even; NaN stays one.
inline void narrow(float value, uint16_t& to) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
  to = static_cast<uint16_t>(value != value ? (bits >> 16 | 0x40) : rounded);
}

/// First and last tap of a window inside [0, extent).
struct Taps {
  int64_t begin, end;
};
inline Taps taps_inside(int64_t start, int64_t kernel, int64_t dilation, int64_t extent) {
  const int64_t begin = start >= 0 ? 0 : (-start + dilation - 1) / dilation;
  const int64_t end = std::min(kernel, start >= extent ? 0 : (extent - 1 - start) / dilation + 1);
  return {begin, std::max(begin, end)};
}

/// Taps that count for an average: all inside the padded image, or only those inside the image.
inline int64_t counted(int64_t start, int64_t kernel, int64_t dilation, int64_t extent,
                       int64_t pad_after, bool padding, Taps taps) {
  if (!padding) return taps.end - taps.begin;
  return std::min(kernel, std::max<int64_t>(0, (extent + pad_after - 1 - start) / dilation + 1));
}

template <class T, bool kAverage>
void pixel_of(const PoolProblem& p, const T* image, T* out, int64_t y, int64_t x) {
  const int64_t top = y * p.stride_h - p.pad_top, left = x * p.stride_w - p.pad_left;
  const Taps rows = taps_inside(top, p.kernel_h, p.dilation_h, p.in_height);
  const Taps columns = taps_inside(left, p.kernel_w, p.dilation_w, p.in_width);
  const int64_t count =
      counted(top, p.kernel_h, p.dilation_h, p.in_height, p.pad_bottom, p.count_padding, rows) *
      counted(left, p.kernel_w, p.dilation_w, p.in_width, p.pad_right, p.count_padding, columns);
  for (int64_t c = 0; c < p.channels; c += kBlock) {
    const int64_t n = std::min(kBlock, p.channels - c);
    float sums[kBlock];
    std::fill_n(sums, kBlock, kAverage ? 0.0f : -std::numeric_limits<float>::infinity());
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const int64_t at = (top + i * p.dilation_h) * p.in_width + left + j * p.dilation_w;
        const T* tap = image + at * p.in_pixel + c;
        for (int64_t k = 0; k < n; ++k) {
          const float value = widen(tap[k]);
          // The comparison keeps NaN, as a maximum should.
          sums[k] =
              kAverage ? sums[k] + value : (value > sums[k] || value != value ? value : sums[k]);
        }
      }
    }
    const float scale = kAverage ? 1.0f / static_cast<float>(count) : 1.0f;
    for (int64_t k = 0; k < n; ++k) narrow(kAverage ? sums[k] * scale : sums[k], out[c + k]);
  }
}

/// The largest byte of each channel.
template <class T>
void largest_bytes(const PoolProblem& p, const T* image, T* out, int64_t y, int64_t x) {
  constexpr int64_t kBytes = 4 * kBlock;
  const int64_t top = y * p.stride_h - p.pad_top, left = x * p.stride_w - p.pad_left;
  const Taps rows = taps_inside(top, p.kernel_h, p.dilation_h, p.in_height);
  const Taps columns = taps_inside(left, p.kernel_w, p.dilation_w, p.in_width);
  for (int64_t c = 0; c < p.channels; c += kBytes) {
    const int64_t n = std::min(kBytes, p.channels - c);
    T largest[kBytes];
    std::fill_n(largest, n, std::numeric_limits<T>::lowest());
    for (int64_t i = rows.begin; i < rows.end; ++i) {
      for (int64_t j = columns.begin; j < columns.end; ++j) {
        const int64_t at = (top + i * p.dilation_h) * p.in_width + left + j * p.dilation_w;
        const T* tap = image + at * p.in_pixel + c;
        for (int64_t k = 0; k < n; ++k) largest[k] = tap[k] > largest[k] ? tap[k] : largest[k];
      }
    }
    std::copy_n(largest, n, out + c);
  }
}

template <class T>
void real_pixel(const PoolProblem& p, const void* image, void* out, int64_t y, int64_t x) {
  const auto* from = static_cast<const T*>(image);
  auto* to = static_cast<T*>(out);
  p.average ? pixel_of<T, true>(p, from, to, y, x) : pixel_of<T, false>(p, from, to, y, x);
}

inline void pixel(const PoolProblem& p, const void* image, void* out, int64_t y, int64_t x) {
  if (p.type == PoolType::f32) return real_pixel<float>(p, image, out, y, x);
  if (p.type == PoolType::bf16) return real_pixel<uint16_t>(p, image, out, y, x);
  if (p.type == PoolType::i8)
    return largest_bytes(p, static_cast<const int8_t*>(image), static_cast<int8_t*>(out), y, x);
  largest_bytes(p, static_cast<const uint8_t*>(image), static_cast<uint8_t*>(out), y, x);
}
