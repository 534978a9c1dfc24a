// Discrete Fourier transforms of whole lines in shared memory: one pass for each factor of the length, from one half of the
// memory to the other, each number of a pass by one thread (Stockham's order, which needs no reversal of bits). A factor that
// is a large prime costs as many products as it is large. kLines lines a block.
// roots: kLength powers of the transform's root, real and imaginary.

struct Complex {
  Real re, im;
};
__device__ inline Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

enum : int { kPoints = kLines * kLength };

// kStride: the product of the factors of earlier passes.
template <int kRadix, int kStride>
__device__ inline void pass(const Complex* from, Complex* to, const Complex* roots) {
  constexpr int kRest = kLength / (kRadix * kStride);
  for (int i = threadIdx.x; i < kPoints; i += kBlock) {
    const int line = i / kLength, t = i % kLength, q = t % kStride, k = t / kStride % kRadix, p = t / (kStride * kRadix);
    const Complex* at = from + line * kLength + q + kStride * p;
    Complex sum = at[0];
    int root = k;
#pragma unroll
    for (int j = 1; j < kRadix; ++j) {
      const Complex product = at[kStride * kRest * j] * roots[kLength / kRadix * root];
      sum.re += product.re, sum.im += product.im;
      root += k;
      if (root >= kRadix) root -= kRadix;
    }
    to[i] = sum * roots[kStride * p * k];
  }
  __syncthreads();
}

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const X* __restrict__ window, const Complex* __restrict__ table, Y* __restrict__ y) {
  extern __shared__ __align__(16) unsigned char shared[];
  Complex* const roots = reinterpret_cast<Complex*>(shared);
  Complex *a = roots + kLength, *b = a + kPoints;
  const int first = blockIdx.x * kLines;
  for (int i = threadIdx.x; i < kLength; i += kBlock) roots[i] = table[i];
  begin_kernel();
  for (int i = threadIdx.x; i < kPoints; i += kBlock) {
    // Neighbours in memory by neighbouring threads.
    const int line = kAcross ? i % kLines : i / kLength, k = kAcross ? i / kLines : i % kLength;
    // The upper half of the spectrum of a real signal follows from the lower one.
    const bool mirrored = kMirror && k > kLength / 2;
    const int source = mirrored ? kLength - k : k;
    Complex v = {Real(0), Real(0)};
    if (first + line < kCount && source < kGiven) {
      const X* const at = x + input_place(first + line) + source * Index(kInStep);
      v.re = Real(widen(at[0]));
      if (kParts == 2 && !(kMirror && (k == 0 || 2 * k == kLength))) v.im = Real(widen(at[kInPart]));
      if (mirrored) v.im = -v.im;
      if (kHasWindow) {
        const Real factor = Real(widen(window[k * kWindowStep]));
        v.re *= factor, v.im *= factor;
      }
    }
    a[line * kLength + k] = v;
  }
  __syncthreads();
  PASSES
  const Real scale = kInverse ? Real(1) / Real(kLength) : Real(1);
  for (int i = threadIdx.x; i < kLines * kResults; i += kBlock) {
    const int line = kAcross ? i % kLines : i / kResults, k = kAcross ? i / kLines : i % kResults;
    if (first + line >= kCount) continue;
    const Complex v = a[line * kLength + k];
    Y* const at = y + output_place(first + line) + k * Index(kOutStep);
    at[0] = narrow<Y>(v.re * scale);
    if (kOutParts == 2) at[kOutPart] = narrow<Y>(v.im * scale);
  }
}
