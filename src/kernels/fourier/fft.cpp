#include "kernels/fourier/fft.h"

#include <algorithm>
#include <complex>
#include <numbers>
#include <numeric>

#include "base/arithmetic.h"
#include "device/cpu/aligned_buffer.h"

namespace tenon::cpu {
namespace {

using Complex = std::complex<double>;

/// exp(sign pi i numerator / denominator), each by itself: products of them would add up errors.
Complex root(double sign, int64_t numerator, int64_t denominator) {
  return std::polar(1.0, sign * std::numbers::pi * static_cast<double>(numerator) /
                             static_cast<double>(denominator));
}

void add(const Complex& number, std::vector<float>& to) {
  to.push_back(static_cast<float>(number.real()));
  to.push_back(static_cast<float>(number.imag()));
}

/// Of a power of two numbers.
std::vector<Complex> spectrum_of(const std::vector<Complex>& x) {
  if (x.size() == 1) return x;
  const size_t half = x.size() / 2;
  std::vector<Complex> even(half), odd(half), all(x.size());
  for (size_t i = 0; i < half; ++i) even[i] = x[2 * i], odd[i] = x[2 * i + 1];
  even = spectrum_of(even), odd = spectrum_of(odd);
  for (size_t i = 0; i < half; ++i) {
    const Complex turned = odd[i] * root(-2, static_cast<int64_t>(i), std::ssize(x));
    all[i] = even[i] + turned, all[i + half] = even[i] - turned;
  }
  return all;
}

/// Products of a line's transform, roughly.
int64_t cost_of(int64_t length) {
  const std::vector<int64_t> factors = fourier_factors(length);
  return length * std::accumulate(factors.begin(), factors.end(), int64_t{0});
}

/// Bluestein's form: m k is half of m^2 + k^2 - (k - m)^2, so that the transform is a convolution
/// with turns by half squares, of numbers that are turned likewise before and behind it.
void add_chirp(int64_t length, double sign, FourierPasses& passes) {
  std::vector<Complex> other(static_cast<size_t>(passes.length));
  const double scale = 1.0 / static_cast<double>(passes.length);
  for (int64_t k = 0; k < length; ++k) {
    const Complex turn = root(sign, k * k % (2 * length), length);
    add(turn, passes.chirp);
    other[k] = std::conj(turn) * scale;
    if (k > 0) other[passes.length - k] = other[k];
  }
  for (const Complex& number : spectrum_of(other)) add(number, passes.spectrum);
}

}  // namespace

FourierPasses FourierPasses::of(int64_t length, bool inverse) {
  FourierPasses passes;
  const double sign = inverse ? 1 : -1;
  int64_t power = 1;
  while (power < 2 * length - 1) power *= 2;
  const bool by_chirp = 2 * cost_of(power) < cost_of(length);
  passes.length = by_chirp ? power : length;
  passes.factors = fourier_factors(passes.length);
  passes.inverse = inverse && !by_chirp;
  for (int64_t k = 0; k < passes.length; ++k)
    add(root(passes.inverse ? 2 : -2, k, passes.length), passes.roots);
  if (by_chirp) add_chirp(length, sign, passes);
  return passes;
}

size_t FourierTransform::group_bytes(int width) const {
  const FourierLines& lines = problem_.lines;
  const int64_t halves = problem_.in_pairs() ? 2 : 1;
  const int64_t staged =
      halves * std::max(problem_.read() * lines.in_parts, lines.results * lines.out_parts);
  return align_up(static_cast<size_t>((staged + 4 * passes_.length) * width) * sizeof(float));
}

/// Lanes without a line are of no use, and numbers of a line lie the further apart, the more lanes
/// there are.
FourierTransform::FourierTransform(FourierProblem problem)
    : problem_(std::move(problem)),
      passes_(FourierPasses::of(problem_.lines.length, problem_.lines.inverse)),
      functions_(&fourier_functions(problem_.isa)) {
  constexpr size_t kMostScratch = size_t{64} << 20;
  const auto is_too_wide = [&](int width) {
    const int64_t lanes = ceil_div(problem_.lines.count(), problem_.in_pairs() ? 2 : 1);
    return width > 1 && (width > 4 * lanes ||
                         group_bytes(width) * static_cast<size_t>(problem_.threads) > kMostScratch);
  };
  for (const Isa narrower : {Isa::avx2, Isa::generic})
    if (is_too_wide(functions_->width) && narrower < problem_.isa)
      functions_ = &fourier_functions(narrower);
}

size_t FourierTransform::scratch_bytes() const {
  return group_bytes(functions_->width) * static_cast<size_t>(problem_.threads);
}

void FourierTransform::run(const void* x, const void* window, void* y, ThreadPool& pool,
                           void* scratch) const {
  const FourierLines& lines = problem_.lines;
  const int64_t each = group_lines(), count = lines.count();
  const size_t bytes = group_bytes(functions_->width);
  pool.parallel_for(ceil_div(count, each), 1, [&](int64_t begin, int64_t end, int worker) {
    std::vector<int64_t> from(static_cast<size_t>(each)), to(from.size());
    for (int64_t group = begin; group < end; ++group) {
      for (int64_t lane = 0; lane < each; ++lane) {
        int64_t line = std::min(group * each + lane, count - 1);
        from[lane] = to[lane] = 0;
        for (size_t i = lines.axes.size(); i-- > 0; line /= lines.axes[i].extent) {
          from[lane] += line % lines.axes[i].extent * lines.axes[i].in_stride;
          to[lane] += line % lines.axes[i].extent * lines.axes[i].out_stride;
        }
      }
      auto* own = static_cast<char*>(scratch) + static_cast<size_t>(worker) * bytes;
      functions_->transform({problem_, passes_, x, window, y, from.data(), to.data(),
                             count - group * each, reinterpret_cast<float*>(own)});
    }
  });
}

}  // namespace tenon::cpu
