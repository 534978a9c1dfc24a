#pragma once

#include <memory>
#include <string>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "kernels/constant_store.h"
#include "kernels/tactic.h"

/// Functions for the tactics of NVIDIA GPUs. A tactic is a source
/// `src/kernels/<family>/<x>_cuda.cpp` and a row in the family's cuda_tactics.def. Its create(),
/// with text that kernels/jit puts together:
///
///     TENON_ASSIGN(auto module, cuda::compile_text(problem, "rows/softmax", text, options));
///     TENON_ASSIGN(cuda::Function function, module->function("softmax"));
///
/// The kernel object keeps both, and run() launches on the queue's stream:
///
///     return function_.launch({.grid_x = rows, .block_x = 128}, arguments.queue.stream,
///                             arguments.inputs[0], arguments.outputs[0]);
///
/// run() may be recorded into a graph: it must not wait, allocate, or read device memory from the
/// host.
namespace tenon::cuda {

/// The GPU that the problem is for.
inline CudaDevice& device_of(const Problem& problem) {
  return static_cast<CudaDevice&>(*problem.device);
}

/// Compiled code that came with the plan, or is collected for one; null: there is none.
inline CodeLibrary* library_of(const Problem& problem) {
  return problem.constants == nullptr ? nullptr : problem.constants->code();
}

/// For kernels that read some operands early (Kernel::reads_early): what keeps them from it has
/// code as well, which a plan must hold.
inline Status prepare_fence(const Problem& problem) {
  return device_of(problem).prepare_fence(library_of(problem));
}

/// The text compiled for the problem's device and loaded; from memory, or the disk, where it was
/// compiled before. Kernels are `extern "C" __global__`.
inline Result<std::shared_ptr<const Module>> compile_text(const Problem& problem, std::string name,
                                                          std::string text,
                                                          std::vector<std::string> options = {}) {
  return device_of(problem).module({std::move(name), std::move(text), std::move(options), {}},
                                   library_of(problem));
}

/// Constants as kernels read them, on the device for as long as they have an owner.
inline Result<DeviceBuffer> upload_constant(const Problem& problem, const void* bytes,
                                            size_t count) {
  if (problem.constants != nullptr) return problem.constants->share(bytes, count);
  return device_of(problem).upload_constant(bytes, count);
}

/// The same for contents that follow from a tensor's and the text of `recipe` alone: where they are
/// there already, as for shapes that were met before, nothing is made.
inline Result<ConstantStore::Part> keep_constant(const Problem& problem, const Tensor& source,
                                                 const std::string& recipe,
                                                 FunctionRef<Tensor()> make) {
  if (problem.constants != nullptr)
    return problem.constants->share_made(source, recipe, [&] {
      const Tensor made = make();
      return std::vector(made.bytes(), made.bytes() + made.byte_count());
    });
  const Tensor made = make();
  const auto bytes = static_cast<size_t>(made.byte_count());
  TENON_ASSIGN(DeviceBuffer buffer, upload_constant(problem, made.bytes(), bytes));
  return ConstantStore::Part{std::move(buffer), bytes};
}

/// Of constants that a kernel keeps: shared ones are there once, however many kernels have them.
inline size_t owned_constants(const Problem& problem, size_t bytes) {
  return problem.constants == nullptr ? bytes : 0;
}

}  // namespace tenon::cuda
