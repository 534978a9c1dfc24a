#pragma once

/// Loading plans without copies of their weights, with or without the code in them, and runs that
/// can be stopped.

#include "NvInferRuntime.h"

namespace tenon {

/// Loads an engine from a plan file like deserializeCudaEngine(), except that the file is mapped:
/// processes that load the same file share its weights, and nothing is read twice. The file may be
/// replaced or deleted while the engine lives, but must not be changed in place. Null, with an
/// error logged, where the file is no plan for this machine.
TENSORRTAPI nvinfer1::ICudaEngine* loadEngine(nvinfer1::IRuntime& runtime,
                                              const char* path) noexcept;

/// Whether a run is to end. Called by runs on the thread that they are started from; must not
/// throw, and should return at once.
using StopFunction = bool (*)(void* argument) noexcept;

/// Has runs of the context call `asked(argument)` ahead of each iteration of a loop; where the
/// answer is true, enqueueV3() and executeV2() fail with an error, their outputs are undefined, and
/// the context can be used again. On a GPU, where the host does not wait for work on the stream,
/// that ends the work that is put there. Null, the default, for none. Returns false for a context
/// of another library. Not to be called while the context runs.
TENSORRTAPI bool setStopFunction(nvinfer1::IExecutionContext& context, StopFunction asked,
                                 void* argument) noexcept;

/// Sets whether engines that the runtime loads from here on may run the device code that their
/// plans hold. Default: true. With `allowed` false none of it reaches the driver: kernels are
/// compiled from the library's own sources (NVRTC must be there), or taken from its kernel cache,
/// with the same results. Plans for CPUs hold no code. Returns false for a runtime of another
/// library. Thread-safety is that of the runtime.
TENSORRTAPI bool setPlanCodeAllowed(nvinfer1::IRuntime& runtime, bool allowed) noexcept;

}  // namespace tenon
