// Discrete Fourier transforms of whole lines: one pass for each factor of the length (Stockham's order, which needs no
// reversal of bits). The first pass reads the operand and the last one writes the result; between them numbers are in one half
// of the shared memory, or in the other. A thread of a pass transforms as many numbers as a small factor has, in registers;
// a factor that is a large prime costs as many products as it is large for each number. kLines lines a block.
// roots: kLength powers of the transform's root, real and imaginary.

struct Complex {
  Real re, im;
};
__device__ inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
__device__ inline Complex operator-(Complex a, Complex b) { return {a.re - b.re, a.im - b.im}; }
__device__ inline Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }

enum : int { kPoints = kLines * kLength };

// The transform of kRadix numbers.
template <int kRadix>
__device__ inline void transform(Complex (&v)[kRadix], const Complex* roots) {
  if constexpr (kRadix == 2) {
    const Complex sum = v[0] + v[1];
    v[1] = v[0] - v[1], v[0] = sum;
  } else if constexpr (kRadix == 4) {
    const Complex even = v[0] + v[2], other = v[0] - v[2], odd = v[1] + v[3], d = v[1] - v[3];
    const Complex turned = kInverse ? Complex{-d.im, d.re} : Complex{d.im, -d.re};
    v[0] = even + odd, v[1] = other + turned, v[2] = even - odd, v[3] = other - turned;
  } else {
    Complex sums[kRadix];
#pragma unroll
    for (int k = 0; k < kRadix; ++k) {
      sums[k] = v[0];
#pragma unroll
      for (int j = 1; j < kRadix; ++j) sums[k] = sums[k] + v[j] * roots[kLength / kRadix * (j * k % kRadix)];
    }
#pragma unroll
    for (int k = 0; k < kRadix; ++k) v[k] = sums[k];
  }
}

// One number of the transform of kRadix numbers from `at`, `step` from each other.
template <int kRadix, class From>
__device__ inline Complex number(const From& from, int line, int at, int step, int k, const Complex* roots) {
  Complex sum = from(line, at);
  int root = k;
  for (int j = 1; j < kRadix; ++j) {
    sum = sum + from(line, at + step * j) * roots[kLength / kRadix * root];
    root += k;
    if (root >= kRadix) root -= kRadix;
  }
  return sum;
}

// kStride: the product of the factors of earlier passes. kAcross: neighbouring threads take neighbouring lines.
template <int kRadix, int kStride, bool kInRegisters, class From, class To>
__device__ inline void pass(const From& from, const To& to, const Complex* roots) {
  constexpr int kEach = kInRegisters ? kLength / kRadix : kLength, kStep = kLength / kRadix;
  for (int i = threadIdx.x; i < kLines * kEach; i += kBlock) {
    const int line = kAcross ? i % kLines : i / kEach, t = kAcross ? i / kLines : i % kEach;
    if constexpr (kInRegisters) {
      const int q = t % kStride, p = t / kStride;
      Complex v[kRadix];
#pragma unroll
      for (int j = 0; j < kRadix; ++j) v[j] = from(line, t + kStep * j);
      transform(v, roots);
#pragma unroll
      for (int k = 0; k < kRadix; ++k)
        to(line, q + kStride * (k + kRadix * p), k == 0 || kStride == kStep ? v[k] : v[k] * roots[kStride * p * k]);
    } else {
      const int q = t % kStride, k = t / kStride % kRadix, p = t / (kStride * kRadix);
      to(line, t, number<kRadix>(from, line, q + kStride * p, kStep, k, roots) * roots[kStride * p * k]);
    }
  }
}

struct Shared {
  Complex* at;
  __device__ inline Complex operator()(int line, int k) const { return at[line * kLength + k]; }
  __device__ inline void operator()(int line, int k, Complex v) const { at[line * kLength + k] = v; }
};

struct Source {
  const X* x;
  const X* window;
  int first;

  __device__ inline Complex operator()(int line, int k) const {
    // The upper half of the spectrum of a real signal follows from the lower one.
    const bool mirrored = kMirror && k > kLength / 2;
    const int source = mirrored ? kLength - k : k;
    Complex v = {Real(0), Real(0)};
    if (first + line >= kCount || source >= kGiven) return v;
    const X* const at = x + input_place(first + line) + source * Index(kInStep);
    v.re = Real(widen(at[0]));
    if (kParts == 2 && !(kMirror && (k == 0 || 2 * k == kLength))) v.im = Real(widen(at[kInPart]));
    if (mirrored) v.im = -v.im;
    if (kHasWindow) {
      const Real factor = Real(widen(window[k * kWindowStep]));
      v.re *= factor, v.im *= factor;
    }
    return v;
  }
};

struct Result {
  Y* y;
  int first;

  __device__ inline void operator()(int line, int k, Complex v) const {
    if (first + line >= kCount || k >= kResults) return;
    // Of a real signal these have no imaginary part, not even a rounding error.
    if (kParts == 1 && !kMirror && (k == 0 || 2 * k == kLength)) v.im = Real(0);
    const Real scale = kInverse ? Real(1) / Real(kLength) : Real(1);
    Y* const at = y + output_place(first + line) + k * Index(kOutStep);
    at[0] = narrow<Y>(v.re * scale);
    if (kOutParts == 2) at[kOutPart] = narrow<Y>(v.im * scale);
  }
};

extern "C" __global__ void __launch_bounds__(kBlock)
    kernel(const X* __restrict__ x, const X* __restrict__ window, const Complex* __restrict__ table, Y* __restrict__ y) {
  extern __shared__ __align__(16) unsigned char shared[];
  Complex* const roots = reinterpret_cast<Complex*>(shared);
  const Shared a = {roots + kLength}, b = {a.at + kPoints};
  const int first = blockIdx.x * kLines;
  const Source source = {x, window, first};
  const Result result = {y, first};
  for (int i = threadIdx.x; i < kLength; i += kBlock) roots[i] = table[i];
  begin_kernel();
  __syncthreads();
  PASSES
}
