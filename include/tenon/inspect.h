#pragma once

/// The contents of a plan or a model as JSON text, without a device and without loading it; and the
/// steps that a context runs.

#include "NvInfer.h"

namespace tenon {

/// Describes the bytes of a plan as JSON text, to be freed with delete, without a device and
/// without loading it: version, device, settings, inputs and outputs with the shapes of each
/// profile, layers with their kernels and the model's nodes that each came from, the nodes that no
/// layer stands for ("gone", with the pass that folded or removed each), weights by type, applied
/// passes, and the candidates of each layer where the plan was built with recordCandidates(). Null,
/// with an error in `logger`, where the bytes are no plan.
TENSORRTAPI nvinfer1::IHostMemory* describePlan(const void* plan, size_t size,
                                                nvinfer1::ILogger& logger) noexcept;

/// Describes an ONNX file as JSON text, to be freed with delete: producer, operator sets, inputs
/// and outputs, nodes, operators by number, weights by type, local functions. Nothing is imported:
/// models with unknown operators are described too. Null, with an error in `logger`, where the file
/// is no model.
TENSORRTAPI nvinfer1::IHostMemory* describeModel(const char* path,
                                                 nvinfer1::ILogger& logger) noexcept;

/// The plan level of the context under the shapes that are set, as text, to be freed with delete:
/// its steps in their order with kernels, operands as a buffer and bytes from its start, streams
/// and fences, and the buffers of its memory (docs/architecture.md). Null, with an error in the
/// engine's logger, where shapes are missing or depend on data. Not thread-safe, like the context.
TENSORRTAPI nvinfer1::IHostMemory* describeSteps(nvinfer1::IExecutionContext& context) noexcept;

/// The bytes of a timing cache: how many times it has, and of each device how many problems, times
/// and failures. Null, and an error in `logger`, where they are damaged. Delete it.
TENSORRTAPI nvinfer1::IHostMemory* describeTimingCache(const void* cache, size_t size,
                                                       nvinfer1::ILogger& logger) noexcept;

/// A timing cache without the entries of devices whose description (as describeTimingCache() has
/// it) does not hold the text `device`, null or empty for all; times of whole sequences, which do
/// not tell their device, go where a device is given. Null, and an error in `logger`, where the
/// bytes are damaged. Delete it.
TENSORRTAPI nvinfer1::IHostMemory* pruneTimingCache(const void* cache, size_t size,
                                                    const char* device,
                                                    nvinfer1::ILogger& logger) noexcept;

/// Has plans keep, of each layer, all candidate kernels with the time or the reason of refusal of
/// each. Off by default. Times differ from build to build, and so do the plan's bytes unless a
/// timing cache gives the times. Returns false for a configuration of another library.
TENSORRTAPI bool recordCandidates(nvinfer1::IBuilderConfig& config, bool record) noexcept;

}  // namespace tenon
