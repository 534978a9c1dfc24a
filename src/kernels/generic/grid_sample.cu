// x at the points of a grid, each a mixture of up to 4 elements an axis. kMode: 0 nearest, 1 linear, 2 cubic; kPadding:
// 0 zeros, 1 border, 2 reflection.

enum : int { kAxes = In0::kRank - 2 };
enum : int { kTaps = kMode == 0 ? 1 : kMode == 1 ? 2 : 4 };
#define kHalf (kAlignCorners ? 0.0 : 0.5)

__device__ inline double reflected(double at, double low, double high) {
  const double range = high - low;
  if (range <= 0) return low;
  const double distance = fmod(fabs(at - low), 2 * range);
  return low + (distance > range ? 2 * range - distance : distance);
}

/// The element that stands for one outside; -1 reads as zero.
__device__ inline i64 padded(i64 index, i64 extent) {
  if (index >= 0 && index < extent) return index;
  if (kPadding == 0) return -1;
  if (kPadding == 1) return clamped<i64>(index, 0, extent - 1);
  return clamped<i64>(i64(reflected(double(index), -kHalf, double(extent - 1) + kHalf)), 0, extent - 1);
}

__device__ inline double cubic(double x) {
  const double a = -0.75;
  x = fabs(x);
  return x <= 1 ? ((a + 2) * x - (a + 3)) * x * x + 1 : ((x - 5) * x + 8) * x * a - 4 * a;
}

struct Taps {
  i64 index[kTaps];
  double weight[kTaps];
};

__device__ inline Taps taps_of(double normalized, i64 extent) {
  const double length = double(extent);
  double at = kAlignCorners ? (normalized + 1) / 2 * (length - 1) : ((normalized + 1) * length - 1) / 2;
  if (!(fabs(at) < 1e15)) at = -1e9;
  if (kMode == 0) at = rint(at);
  if (at < -kHalf || at > length - 1 + kHalf) {
    // The taps of a cubic are moved to the border one by one.
    if (kPadding == 1 && kMode != 2) at = clamped(at, 0.0, length - 1);
    if (kPadding == 2) at = reflected(at, -kHalf, length - 1 + kHalf);
  }
  const double left = floor(at);
  const i64 first = i64(left);
  Taps taps;
  for (int i = 0; i < kTaps; ++i) {
    taps.index[i] = padded(first + i - (kMode == 2 ? 1 : 0), extent);
    taps.weight[i] = kMode == 0   ? 1
                     : kMode == 1 ? (i == 0 ? 1 - (at - left) : at - left)
                                  : cubic(at - left - (i - 1));
  }
  return taps;
}

__device__ inline Real element(i64* c, const Operands& o) {
  i64 point = c[0] * In1::stride(0);
  Taps taps[kAxes];
  int count = 1;
  for (int a = 0; a < kAxes; ++a) {
    point += c[2 + a] * In1::stride(1 + a);
    count *= kTaps;
  }
  // Points are given as (x, y, ...): the last axis first.
  for (int a = 0; a < kAxes; ++a)
    taps[a] = taps_of(double(widen(o.x1[point + (kAxes - 1 - a) * In1::stride(1 + kAxes)])), In0::extent(2 + a));
  const X0* image = o.x0 + c[0] * In0::stride(0) + c[1] * In0::stride(1);
  double sum = 0;
  for (int i = 0; i < count; ++i) {
    int rest = i;
    i64 offset = 0;
    double weight = 1;
    for (int a = kAxes - 1; a >= 0; --a) {
      const int tap = rest % kTaps;
      rest /= kTaps;
      weight = taps[a].index[tap] < 0 ? 0 : weight * taps[a].weight[tap];
      offset += taps[a].index[tap] < 0 ? 0 : taps[a].index[tap] * In0::stride(2 + a);
    }
    if (weight != 0) sum += weight * double(widen(image[offset]));
  }
  return Real(sum);
}
