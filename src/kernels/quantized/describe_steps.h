#pragma once

#include "base/function_ref.h"
#include "kernels/quantized/describe.h"

namespace tenon::cpu {

/// Elements from one row to the next of an operand of the output's extents, or why it has no rows.
using OperandRows = FunctionRef<Result<int64_t>(const Operand& operand)>;

/// Scales, biases, steps and output of the region; columns lie along `axis` of the output.
Status describe_steps(const Problem& problem, const QuantizedRegion& region, int axis,
                      OperandRows rows, ByteDescription& description);

}  // namespace tenon::cpu
