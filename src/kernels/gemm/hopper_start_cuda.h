#pragma once

#include "kernels/gemm/hopper_tiling_cuda.h"
#include "kernels/jit/epilogue_code.h"

namespace tenon::hopper {

/// Takes the first step behind the products, of those `before` the region's own and these, where it
/// adds one number a column, the axis `column_axis` of the result: gemm/hopper_start.cu then has
/// the sums start from it. Adds that file's constants to the code; gives the kernel's argument,
/// null where there is no such step, or where blocks share k, whose products would wait for each
/// other.
Result<JitArgument> take_bias(KernelCode& code, const Problem& problem, const Tiling& tiling,
                              const IndexLoop& loop, size_t column_axis, AnchoredRegion& region,
                              std::vector<ExtraStep>& before);

}  // namespace tenon::hopper
