#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/cuda/cuda_device.h"
#include "kernels/tactic.h"

/// What the tactics of NVIDIA GPUs use. A tactic is a source `src/kernels/<family>/<x>_cuda.cpp`
/// beside its device code `<x>.cu`, and a row in the family's cuda_tactics.def. Its create():
///
///     TENON_ASSIGN(auto module, cuda::compile(problem, "kernels/rows/softmax.cu",
///                                             {cuda::define("COLUMNS", columns),
///                                              cuda::define("T", cuda::type_name(type))}));
///     TENON_ASSIGN(cuda::Function function, module->function("softmax"));
///
/// The kernel object keeps both, and run() launches on the queue's stream:
///
///     return function_.launch({.grid_x = rows, .block_x = 128}, arguments.queue.stream,
///                             arguments.inputs[0], arguments.outputs[0]);
///
/// run() may be recorded into a graph: it must not wait, allocate, or read device memory from the
/// host. Device code includes "kernels/cuda/base.cuh" for types and conversions, has no other
/// headers than those below src/kernels, and its kernels are `extern "C" __global__`. Every macro
/// that it expects has a default (`#ifndef COLUMNS`), so that a test can compile each .cu file for
/// each architecture.
namespace tenon::cuda {

/// The GPU that the problem is for.
inline CudaDevice& device_of(const Problem& problem) {
  return static_cast<CudaDevice&>(*problem.device);
}

/// "-DNAME=VALUE".
template <class T>
std::string define(std::string_view name, const T& value) {
  return fmt::format("-D{}={}", name, value);
}

/// The type in device code: "float", "f16", "bf16", "i64", ...; null for types that have none
/// (4-bit and 8-bit floats).
const char* type_name(DataType type);

/// The text of an embedded file, or empty.
std::string_view device_source(std::string_view file);

/// An embedded file compiled for the problem's device with these options, from memory or the disk
/// where it was compiled before.
Result<std::shared_ptr<const Module>> compile(const Problem& problem, std::string_view file,
                                              std::vector<std::string> options = {});
/// Likewise of generated code.
Result<std::shared_ptr<const Module>> compile_text(const Problem& problem, std::string name,
                                                   std::string text,
                                                   std::vector<std::string> options = {});

}  // namespace tenon::cuda
