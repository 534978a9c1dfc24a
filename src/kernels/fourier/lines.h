#pragma once

#include <vector>

#include "kernels/tactic.h"

namespace tenon {

/// An axis of the tensor other than a transform's: lines follow each other along it.
struct LineAxis {
  int64_t extent, in_stride, out_stride;
};

/// A problem of the operators Dft or Stft as transforms of lines; strides in elements. A region of
/// a Dft may have a cast in front, and a cast and the choice of the real parts behind.
struct FourierLines {
  int64_t length = 0, given = 0, results = 0;  ///< Numbers of a line: all, read and written.
  int64_t in_step = 0, in_part = 0, in_parts = 1, out_step = 0, out_part = 0, out_parts = 2;
  bool inverse = false;
  bool mirror = false;         ///< The spectrum of a real signal is given, as far as its middle.
  int source = 0;              ///< The operand that lines are read from.
  int window = -1;             ///< The operand that factors come from.
  int axis = 0;                ///< Of the transform in its operand, -1 for Stft.
  std::vector<LineAxis> axes;  ///< Slowest first.

  int64_t count() const {
    int64_t count = 1;
    for (const LineAxis& other : axes) count *= other.extent;
    return count;
  }
};

/// Lengths and axes that come at run time are not taken.
Result<FourierLines> describe_fourier(const Problem& problem);

/// Factors of a length, fours first: each a pass over the line. The last one may be a large prime.
std::vector<int64_t> fourier_factors(int64_t length);

}  // namespace tenon
