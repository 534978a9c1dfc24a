#pragma once

#include "suite_case.h"

namespace tenon::onnx_suite {

/// Operator by operator, as the operator table evaluates them.
Status run_reference(const ImportedModel& model, std::span<const Tensor> inputs,
                     const Check& check);

/// What users get: passes, kernels, a plan that is written and read, a context on the processor.
/// Again without the kernels that were taken, until each that fits has had its turn.
Status run_engine(const ImportedModel& model, std::span<const Tensor> inputs, const Check& check);

}  // namespace tenon::onnx_suite
