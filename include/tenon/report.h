#pragma once

/// Facts for reports, as JSON (docs/report.md): what a build did and found, and what a context
/// runs.

#include "NvInfer.h"

namespace tenon {

/// Builds with this configuration keep what getBuildReport() tells; that costs a copy of the
/// network's structure, not of its weights. Off unless switched on. False when the configuration is
/// not of this library.
TENSORRTAPI bool keepBuildReport(nvinfer1::IBuilderConfig& config, bool keep = true) noexcept;

/// The last build with this configuration: the network as it was given, what passes did, the
/// tactics that were tried for each layer with their times or the reasons against them, neighbours
/// that were not fused and why, what the self-check found of each layer, and what the time was
/// spent on. Null where nothing was kept. The caller deletes it.
TENSORRTAPI nvinfer1::IHostMemory* getBuildReport(const nvinfer1::IBuilderConfig& config) noexcept;

/// Describes a run of the context under the shapes that are set: its layers with their operands,
/// kernels, bytes and operations, and the tensors in its memory at each step. Names alone where the
/// engine was built with ProfilingVerbosity::kNONE. Null, with an error in the engine's logger,
/// where shapes are missing or depend on data. The caller deletes it. Not thread-safe, like the
/// context.
TENSORRTAPI nvinfer1::IHostMemory* getRunReport(nvinfer1::IExecutionContext& context) noexcept;

/// Runs the context several times on `stream`, with the addresses that are set, and describes each
/// kernel that a run launches on a GPU: its layer, start and duration, grid, registers, shared
/// memory and occupancy, by CUPTI; where the driver allows it, bytes of the GPU's memory and use of
/// the tensor cores too. Facts that are missing have a reason in the text: no CUPTI, a CPU, a
/// missing permission. Waits until the runs have ended. Null, with an error in the engine's logger,
/// where a run fails. The caller deletes it. Not thread-safe, like the context.
TENSORRTAPI nvinfer1::IHostMemory* getKernelReport(nvinfer1::IExecutionContext& context,
                                                   cudaStream_t stream = nullptr) noexcept;

}  // namespace tenon
