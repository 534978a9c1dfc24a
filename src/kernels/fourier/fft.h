#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"
#include "kernels/epilogue/epilogue.h"
#include "kernels/fourier/lines.h"

/// Fourier transforms of several lines at once, a line in each lane of a vector. Two real lines are
/// the real and imaginary parts of one, since both spectra follow from that of the sum.
namespace tenon::cpu {

struct FourierProblem {
  FourierLines lines;
  ElementType from = ElementType::f32, to = ElementType::f32, window = ElementType::f32;
  int64_t window_step = 1;
  Isa isa = detected_isa();
  int threads = 1;

  bool in_pairs() const { return lines.in_parts == 1 || lines.mirror; }
  /// Of the operand, for one line.
  int64_t read() const {
    return std::min(lines.given, lines.mirror ? lines.length / 2 + 1 : lines.length);
  }
};

/// A length as passes over the line: one for each factor, or, where a factor is a large prime,
/// those of a convolution (Bluestein's) whose length is a power of two.
struct FourierPasses {
  int64_t length = 0;            ///< Of the passes.
  std::vector<int64_t> factors;  ///< Of that.
  bool inverse = false;          ///< The direction of the passes.
  std::vector<float> roots;      ///< Real and imaginary, powers of the root of `length`.
  /// Empty, or factors of a line's numbers, and the spectrum that its own is multiplied by.
  std::vector<float> chirp, spectrum;

  static FourierPasses of(int64_t length, bool inverse);
};

/// The lines of a vector, or of the two halves of pairs, by their first elements.
struct FourierGroup {
  const FourierProblem& problem;
  const FourierPasses& passes;
  const void *x, *window;
  void* y;
  const int64_t *from, *to;  ///< [half][lane].
  int64_t count;             ///< Lines that there are; places behind them repeat the last one.
  float* scratch;
};

struct FourierFunctions {
  void (*transform)(const FourierGroup& group);
  int width;  ///< Lines of a group, or half of them.
};
TENON_BY_ISA(const FourierFunctions&, fourier_functions)

class FourierTransform {
 public:
  explicit FourierTransform(FourierProblem problem);

  size_t scratch_bytes() const;
  /// `window` is null where there is none; `scratch` holds that many bytes.
  void run(const void* x, const void* window, void* y, ThreadPool& pool, void* scratch) const;

 private:
  int64_t group_lines() const { return functions_->width * (problem_.in_pairs() ? 2 : 1); }
  size_t group_bytes(int width) const;

  FourierProblem problem_;
  FourierPasses passes_;
  const FourierFunctions* functions_;
};

}  // namespace tenon::cpu
