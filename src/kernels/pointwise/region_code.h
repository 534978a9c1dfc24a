#pragma once

#include <string>
#include <vector>

#include "kernels/jit/kernel_code.h"
#include "kernels/pointwise/program.h"

namespace tenon {

/// An operand of a generated loop.
struct CodeOperand {
  DataType type = DataType::kFloat32;
  int64_t alignment = 256;           ///< Bytes that its address is a multiple of.
  const Tensor* constant = nullptr;  ///< Contents that become part of the code: one element.
};

/// Device code of one loop: `extern "C" __global__ void kernel(inputs..., outputs...)`, the prelude
/// of kernels/jit not included. Inputs that are part of the code are no parameters.
struct LoopCode {
  OpenText constants;  ///< Ahead of the text.
  std::string text;
  std::vector<int> parameters;  ///< Inputs that are.
  int64_t blocks = 0;
  int threads = 256;
};

/// A loop that applies the program to every element. `operands`: inputs, then outputs, as in
/// `loops.strides`. All types must have arithmetic on the device (device_type of kernels/jit).
/// `threads`: the threads that the device runs at a time (resident_threads). `all_open`: code for
/// all extents is for those of all axes (device/open_extents.h).
Result<LoopCode> make_loop_code(const PointwiseProgram& program, const CollapsedLoops& loops,
                                const std::vector<CodeOperand>& operands, int64_t threads,
                                bool all_open = false);

/// Threads that the multiprocessors of the problem's device hold at a time.
int64_t resident_threads(const Problem& problem);

}  // namespace tenon
