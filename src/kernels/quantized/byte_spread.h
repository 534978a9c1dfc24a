#pragma once

#include <array>
#include <vector>

#include "kernels/quantized/byte_problem.h"

namespace tenon::cpu {

/// A copy of an image with its padding, cut by the residues of positions by the stride, where the
/// pixels of every tap are evenly apart, from one line to the next too. Rows of the product are the
/// positions of whole lines, of which those beyond the output's are dropped.
struct ByteSpread {
  int64_t lines = 0, width = 0;                  ///< Of each residue; 0: there is no copy.
  std::vector<std::array<int64_t, 2>> residues;  ///< That a tap meets.
  std::vector<int64_t> taps;                     ///< Pixels from a row to that of each tap.

  /// Of windows over flat images whose pixels are whole lines of the cache, where rows that take as
  /// long as `row_unit` of them do not become many more.
  static ByteSpread of(const ByteProblem& problem, int64_t row_unit);

  bool empty() const { return lines == 0; }
  /// Of one image.
  int64_t pixels() const { return lines * width * static_cast<int64_t>(residues.size()); }
  size_t bytes(const ByteProblem& problem) const;
  /// One line of a residue, counted through all images; `fill` is the padding.
  void copy_line(const ByteProblem& problem, const uint8_t* input, uint8_t fill, int64_t line,
                 uint8_t* to) const;
};

}  // namespace tenon::cpu
