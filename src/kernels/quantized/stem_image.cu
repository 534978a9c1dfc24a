// Vectors of kVector pixels of an image of bytes, or of reals that are rounded (ROUNDS_IMAGE), on their way to shared memory,
// where a pixel is a word of four channels. Places in the border have the zero point.

enum : u32 { kBorder = u32(kZero & 0xff) * 0x01010101u };
/// kVector pixels on their way to shared memory: words of each channel where images are such planes, else words of four
/// channels.
enum : int { kWords = kVectorPlanes ? kC * (kVector / 4) : kVector };

/// As they come: planes of reals are rounded when the image is stored.
enum : int { kPlaneWords = kVector * sizeof(Pixel) / 4, kLoaded = kVectorPlanes ? kC * kPlaneWords : kWords };

#if ROUNDS_IMAGE
/// A real zero is the zero point.
enum : u32 { kOutside = kVectorPlanes ? 0 : kBorder };
__device__ inline u32 byte_of(Pixel v) { return image_byte(widen(v)) & 0xff; }
__device__ inline float real_in(const u32* from, int i, float) { return __uint_as_float(from[i]); }
template <class T>
__device__ inline float real_in(const u32* from, int i, T) {
  return widen(T{u16(from[i / 2] >> (i % 2 * 16))});
}
/// Four bytes of the reals in words of memory; `are_numbers` where none is infinite or no number.
__device__ inline u32 rounded_word(const u32* from, bool are_numbers) {
  u32 bytes[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const float v = real_in(from, i, Pixel());
    bytes[i] = are_numbers ? byte_of_number(v) : image_byte(v);
  }
  return __byte_perm(__byte_perm(bytes[0], bytes[1], 0x0040), __byte_perm(bytes[2], bytes[3], 0x0040), 0x5410);
}
/// Infinities and NaN leave no zero behind.
__device__ inline bool are_all_numbers(const u32 (&words)[kLoaded]) {
  float zero = 0.0f;
#pragma unroll
  for (int i = 0; i < kC * kVector; ++i) zero = fmaf(real_in(words, i, Pixel()), 0.0f, zero);
  return zero == 0.0f;
}
#else
enum : u32 { kOutside = kBorder };
__device__ inline u32 byte_of(u8 v) { return v; }
__device__ inline u32 rounded_word(const u32* from, bool) { return *from; }
__device__ inline bool are_all_numbers(const u32 (&words)[kLoaded]) { return true; }
#endif

__device__ inline void load_vector(const Pixel* image, int i1, int i2, u32 (&words)[kLoaded]) {
#pragma unroll
  for (int i = 0; i < kLoaded; ++i) words[i] = kOutside;
  if (i1 < 0 || i1 >= kIn1) return;
  const Pixel* row = image + Index(i1) * Index(X1);
  if constexpr (kVectorPlanes) {
    if (i2 < 0 || i2 >= kIn2) return;
    constexpr int kStep = kPlaneWords < 4 ? kPlaneWords : 4;
#pragma unroll
    for (int i = 0; i < kLoaded; i += kStep) {
      const Pixel* plane = row + Index(i / kPlaneWords) * Index(XC) + i2;
      const Pack<u32, kStep> pack = load_pack<kStep>(reinterpret_cast<const u32*>(plane) + i % kPlaneWords);
#pragma unroll
      for (int k = 0; k < kStep; ++k) words[i + k] = pack.v[k];
    }
  } else {
#pragma unroll
    for (int i = 0; i < kWords; ++i) {
      if (i2 + i < 0 || i2 + i >= kIn2) continue;
      words[i] = 0;
#pragma unroll
      for (int c = 0; c < kC; ++c) words[i] |= byte_of(row[Index(c) * Index(XC) + Index(i2 + i) * Index(X2)]) << (8 * c);
    }
  }
}
/// Words of four channels of pixels 4 i to 4 i + 3.
__device__ inline uint4 joined(const u32* words, int i) {
  if constexpr (kVectorPlanes) {
    const auto plane = [&](int c) { return c < kC ? words[c < kC ? kVector / 4 * c + i : 0] : 0u; };
    const u32 a = __byte_perm(plane(0), plane(1), 0x5140), b = __byte_perm(plane(0), plane(1), 0x7362);
    const u32 c = __byte_perm(plane(2), plane(3), 0x5140), d = __byte_perm(plane(2), plane(3), 0x7362);
    return make_uint4(__byte_perm(a, c, 0x5410), __byte_perm(a, c, 0x7632), __byte_perm(b, d, 0x5410), __byte_perm(b, d, 0x7632));
  } else {
    return make_uint4(words[4 * i], words[4 * i + 1], words[4 * i + 2], words[4 * i + 3]);
  }
}
/// Words of each plane.
__device__ inline void round_planes(const u32 (&words)[kLoaded], u32 (&bytes)[kWords]) {
  const auto round = [&](bool are_numbers) {
#pragma unroll
    for (int w = 0; w < kWords; ++w) bytes[w] = rounded_word(words + w * (kLoaded / kWords), are_numbers);
  };
  are_all_numbers(words) ? round(true) : round(false);
}
/// As it lies in shared memory.
struct Vector {
  uint4 pixels[kVector / 4];

  __device__ explicit Vector(const u32 (&words)[kLoaded]) {
    if constexpr (kVectorPlanes) {
      take_planes(words);
    } else {
      take(words);
    }
  }
  __device__ void store(u32* to) const {
#pragma unroll
    for (int i = 0; i < kVector / 4; ++i) reinterpret_cast<uint4*>(to)[i] = pixels[i];
  }

 private:
  __device__ void take(const u32* bytes) {
#pragma unroll
    for (int i = 0; i < kVector / 4; ++i) pixels[i] = joined(bytes, i);
  }
  __device__ void take_planes(const u32 (&words)[kLoaded]) {
    u32 bytes[kWords];
    round_planes(words, bytes);
    take(bytes);
  }
};

__device__ inline float number_of(float sum) { return sum; }
__device__ inline float number_of(int sum) {
  // Conversions are slow; the bits of 1.5 * 2^23 hold numbers below 2^22 beside them.
  if constexpr (kSmallSums) return __int_as_float(sum + 0x4b400000) - 12582912.0f;
  else return float(sum);
}
