// Pooling of any rank and layout, kVector channels (or, channels-first, one element) a thread.
// kFunction: 0 maximum, 1 average, 2 Lp norm.

__device__ inline int counted(int place, int stride, int dilation, int kernel, int low, int high) {
  int count = 0;
  for (int k = 0; k < kernel; ++k) {
    const int at = place * stride + k * dilation;
    count += at >= low && at < high;
  }
  return count;
}

// Elements of the window at `p` that count for an average; `begin` is added to all places.
__device__ inline int window_count(const OutputPlace& p) {
  int count = 1;
  constexpr bool kPad = kCountPadding;
  count *= counted(p.place0, kStride0, kDilation0, kKernel0, kPad ? 0 : kBegin0, kBegin0 + kIn0 + (kPad ? kEnd0 : 0));
  count *= counted(p.place1, kStride1, kDilation1, kKernel1, kPad ? 0 : kBegin1, kBegin1 + kIn1 + (kPad ? kEnd1 : 0));
  count *= counted(p.place2, kStride2, kDilation2, kKernel2, kPad ? 0 : kBegin2, kBegin2 + kIn2 + (kPad ? kEnd2 : 0));
  return count;
}

// Number of a place among those of a channel, in ONNX's order of indices.
__device__ inline i64 index_of(int i0, int i1, int i2) {
  if (kColumnMajor) return i0 + i64(kIn0) * (i1 + i64(kIn1) * i2);
  return i2 + i64(kIn2) * (i1 + i64(kIn1) * i0);
}

// Where every window meets the image, places outside are those at its border, which the window holds, too: the loads of a
// maximum do not wait for one another.
template <int kIn>
__device__ inline int place_in_image(int place) {
  return kClamps ? min(max(place, 0), kIn - 1) : place;
}

/// The greatest of bytes, four a word. Comparisons are of pairs of 16 bits, whose upper bytes decide: bytes 1 and 3 of a word
/// as they lie, 0 and 2 moved up.
template <class T, int kWords>
struct GreatestBytes {
  enum : bool { kSigned = T(-1) < T(0) };
  enum : u32 { kLeast = kSigned ? 0x80808080u : 0u };
  u32 upper[kWords], lower[kWords];

  __device__ GreatestBytes() {
#pragma unroll
    for (int i = 0; i < kWords; ++i) upper[i] = lower[i] = kLeast;
  }
  __device__ static u32 greater(u32 a, u32 b) {
    if constexpr (kSigned) return __vmaxs2(a, b);
    else return __vmaxu2(a, b);
  }
  __device__ void take(const T* from) {
    const Pack<u32, kWords> words = load_pack<kWords>(reinterpret_cast<const u32*>(from));
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      upper[i] = greater(upper[i], words.v[i]), lower[i] = greater(lower[i], words.v[i] << 8);
  }
  template <class V>
  __device__ void give(V (&to)[kWords * 4]) const {
#pragma unroll
    for (int i = 0; i < kWords * 4; ++i) to[i] = V(T((i % 2 ? upper[i / 4] : lower[i / 4]) >> (i / 2 % 2 * 16 + 8)));
  }
};
template <class Visit>
__device__ inline void visit_window(const OutputPlace& p, const X* from, const Visit& visit) {
#pragma unroll(kKernel0 <= 3 ? kKernel0 : 1)
  for (int k0 = 0; k0 < kKernel0; ++k0) {
    const int i0 = place_in_image<kIn0>(p.place0 * kStride0 + k0 * kDilation0 - kBegin0);
    if (i0 < 0 || i0 >= kIn0) continue;
#pragma unroll(kKernel1 <= 5 ? kKernel1 : 1)
    for (int k1 = 0; k1 < kKernel1; ++k1) {
      const int i1 = place_in_image<kIn1>(p.place1 * kStride1 + k1 * kDilation1 - kBegin1);
      if (i1 < 0 || i1 >= kIn1) continue;
#pragma unroll(kKernel2 <= 5 ? kKernel2 : 1)
      for (int k2 = 0; k2 < kKernel2; ++k2) {
        const int i2 = place_in_image<kIn2>(p.place2 * kStride2 + k2 * kDilation2 - kBegin2);
        if (i2 < 0 || i2 >= kIn2) continue;
        visit(from + Index(i0) * Index(X0) + Index(i1) * Index(X1) + Index(i2) * Index(X2), i0, i1, i2);
      }
    }
  }
}

template <class T>
__device__ inline void find_greatest(const OutputPlace& p, const T* from, Real (&v)[kVector]) {
  if constexpr (kOfBytes) {
    GreatestBytes<T, kVector / 4> greatest;
    visit_window(p, from, [&](const T* at, int, int, int) { greatest.take(at); });
    greatest.give(v);
  }
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, Y* __restrict__ y POOL_PARAMETERS EPILOGUE_PARAMETERS) {
  begin_kernel();
  const Index at = (Index(blockIdx.x) * kBlock + threadIdx.x) * kVector;
  if (at >= Index(kCount)) return;
  const OutputPlace p = locate_output(at);
  const X* from = x + p.image * Index(XN) + Index(p.channel) * Index(XC);
  Real v[kVector];
  i64 best[kVector];
  bool any = false;
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    v[i] = kFunction == 0 ? Real(kStart) : Real(0);
    best[i] = -1;
  }
  if constexpr (kOfBytes) {
    find_greatest(p, from, v);
    any = true;  // Where there is none it is the least number as well.
  } else {
    visit_window(p, from, [&](const X* at, int i0, int i1, int i2) {
      Wide<X> e[kVector];
      load_wide<kVector>(at, e);
      any = true;
#pragma unroll
      for (int i = 0; i < kVector; ++i) {
        if (kFunction == 0 && !kIndices) {
          v[i] = Max()(v[i], e[i]);
        } else if (kFunction == 0) {
          if (best[i] < 0 || e[i] > v[i] || (e[i] != e[i] && v[i] == v[i])) {
            v[i] = e[i];
            best[i] = index_of(i0, i1, i2);
          }
        } else if (kFunction == 1) {
          v[i] += Real(e[i]);
        } else {
          v[i] += Real(pow(Root(e[i] < 0 ? -e[i] : e[i]), Root(kPower)));
        }
      }
    });
  }
  if (kFunction == 1) {
    const Real count = Real(window_count(p));
#pragma unroll
    for (int i = 0; i < kVector; ++i) v[i] = v[i] / count;
  }
#pragma unroll
  for (int i = 0; i < kVector; ++i) {
    if (kFunction == 2) v[i] = Real(pow(Root(v[i]), Root(1) / Root(kPower)));
    if (kFunction == 0 && !any) v[i] = Real(kLowest);
  }
#if POOL_INDICES
  constexpr i64 kPlaces = i64(kIn0) * kIn1 * kIn2;
#pragma unroll
  for (int i = 0; i < kVector; ++i)
    indices[locate<IndicesAt>(Index(at + i))] =
        best[i] < 0 ? best[i] : best[i] + kPlaces * (p.image * i64(kChannels) + p.channel + i);
#endif
  epilogue<kVector>(v, at EPILOGUE_ARGUMENTS);
  store_located<YAt, kVector>(y, at, v);
}
