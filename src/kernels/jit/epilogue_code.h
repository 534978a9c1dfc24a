#pragma once

#include <string>
#include <vector>

#include "kernels/jit/kernel_code.h"

namespace tenon {

/// One more step than the region has: an operand of the anchor itself that acts on every element
/// (bias, scale of a normalization), before the region's steps.
struct ExtraStep {
  PointwiseFunction function;
  int operand = -1;              ///< Problem input.
  std::vector<int64_t> strides;  ///< As a tensor of the output's extents, logical order.
};

/// Adds a region's epilogue to the code: a device function
///   epilogue<N>(Real (&v)[N], Index at EPILOGUE_PARAMETERS)
/// that applies the steps to N elements, the first being number `at` of a loop over the output,
/// its two halves, fetch_epilogue<N>(EpilogueOperands<N>&, Index at EPILOGUE_PARAMETERS), which
/// only loads, and apply_epilogue<N>(v, operands), and the macros EPILOGUE_PARAMETERS and
/// EPILOGUE_ARGUMENTS (each begins with a comma, or is empty), and EPILOGUE_EACH(DO), which is
/// DO(0, type) DO(1, type)... over the operands; also prefetch_constants(0 EPILOGUE_ARGUMENTS),
/// which asks for small constant operands and may come before begin_kernel(). Gives the problem
/// inputs that the parameters stand for, in order. Also defines `Real`, the type of arithmetic.
/// `Index` must be defined already.
Result<std::vector<int>> add_epilogue(KernelCode& code, const Problem& problem,
                                      const AnchoredRegion& region, const IndexLoop& loop,
                                      const std::vector<ExtraStep>& before = {});

/// The alias `Y` of the result's type, and for regions that end in a quantization the functions of
/// jit/bytes.cuh for their epilogue: before add_epilogue, whose functions then give numbers of that
/// type.
Status add_result_type(KernelCode& code, const Problem& problem, const AnchoredRegion& region);

/// What add_epilogue is made of, for callers that write the steps themselves.
/// Adds `Real epilogue_step<number>(Real x, Real y)`; `rough`: results have 16 bits or fewer.
Status add_step_function(KernelCode& code, int number, const RegionStep& step, bool rough);

/// An operand `e0`, `e1`... of an epilogue, where `Epilogue0At`... say.
struct EpilogueOperand {
  std::string_view type;         ///< In device code.
  int64_t prefetched_bytes = 0;  ///< Of a small constant.
};
EpilogueOperand epilogue_operand(const Operand& operand);

/// The functions and macros above, of a body of apply_epilogue that changes v[0] to v[N - 1], with
/// the fetched operands f.o0, f.o1...
void add_epilogue_functions(KernelCode& code, const std::vector<EpilogueOperand>& operands,
                            const std::string& body);

}  // namespace tenon
