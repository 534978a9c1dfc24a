#pragma once

/// Loading plans without copies of their weights.

#include "NvInferRuntime.h"

namespace tenon {

/// The engine of a plan file, like deserializeCudaEngine() of its bytes, except that the file is
/// mapped: processes that load the same file share its weights, and nothing is read twice. The file
/// may be replaced or deleted while the engine lives, but must not be changed in place. Null, and
/// an error in the runtime's logger, when the file is no plan for this machine.
TENSORRTAPI nvinfer1::ICudaEngine* loadEngine(nvinfer1::IRuntime& runtime,
                                              const char* path) noexcept;

}  // namespace tenon
