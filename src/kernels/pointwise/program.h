#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "kernels/tactic.h"
#include "ops/pointwise_function.h"

namespace tenon {

/// A pointwise region as a straight line of instructions over registers. Registers 0 .. inputs-1
/// hold the problem's inputs; instruction i writes register inputs + i. Plain data: executors and
/// source generators read it.
struct PointwiseProgram {
  struct Instruction {
    PointwiseFunction function{};
    bool is_cast = false;  ///< Then only `to` and the first source matter.
    /// Quantization to `to`, or its reverse: alpha is the scale, beta the zero point.
    bool quantizes = false, dequantizes = false;
    DataType to{};  ///< Element type of the result.
    double alpha = 0, beta = 0;
    int sources[3] = {-1, -1, -1};
  };
  int inputs = 0;
  std::vector<Instruction> instructions;
  std::vector<int> outputs;  ///< Register of each output.

  bool reads(int input) const;
  /// Executors that know functions and casts alone refuse such programs.
  bool rounds() const;
  /// "r2 = add(r0, r1); r3 = relu(r2); -> r3"
  std::string to_string() const;
};

/// The program of a pointwise node or region; fails for other nodes.
Result<PointwiseProgram> make_pointwise_program(const Operation& operation);
/// Likewise of a region with quantization in it, whose scales and zero points are constants of the
/// problem: registers of such operands are read by no instruction.
Result<PointwiseProgram> make_rounding_program(const Problem& problem);

/// A loop nest over all elements with as few axes as the operands' strides allow, slowest first.
struct CollapsedLoops {
  std::vector<int64_t> extents;
  /// Strides in elements of each operand (inputs, then outputs) along each of those axes; 0
  /// repeats.
  std::vector<std::vector<int64_t>> strides;
};

/// Axes are ordered as the first output lies in memory; inputs broadcast to its extents.
CollapsedLoops collapse_loops(const Problem& problem);

}  // namespace tenon
