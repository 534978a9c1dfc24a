#pragma once

#include "suite_case.h"

namespace tenon::onnx_suite {

/// Operator by operator, as the operator table evaluates them.
Status run_reference(const ImportedModel& model, std::span<const Tensor> inputs,
                     const Check& check);

/// As users run it: passes, kernels, a plan that is written and read, a context on the processor.
/// Again without the kernels that were taken, until each that fits has had its turn.
Status run_engine(const ImportedModel& model, std::span<const Tensor> inputs, const Check& check);

/// A plan for the GPU that is there, by preference of its kernels, and a context on it. Fails also
/// where a layer runs on the host. The GPU is opened by the first call and kept.
Runner gpu_runner();

/// The same plan for a GPU that is only described: fails where a layer would run on the host.
Status cover_gpu(const ImportedModel& model, std::span<const Tensor> inputs, const Check& check);

}  // namespace tenon::onnx_suite
