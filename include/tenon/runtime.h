#pragma once

/// Loading plans without copies of their weights, with or without the code in them, and runs that
/// can be stopped.

#include "NvInferRuntime.h"

namespace tenon {

/// The engine of a plan file, like deserializeCudaEngine() of its bytes, except that the file is
/// mapped: processes that load the same file share its weights, and nothing is read twice. The file
/// may be replaced or deleted while the engine lives, but must not be changed in place. Null, and
/// an error in the runtime's logger, when the file is no plan for this machine.
TENSORRTAPI nvinfer1::ICudaEngine* loadEngine(nvinfer1::IRuntime& runtime,
                                              const char* path) noexcept;

/// Whether a run is to end. Called by runs on the thread that they are started from; must not
/// throw, and should return at once.
using StopFunction = bool (*)(void* argument) noexcept;

/// Runs of the context ask `asked(argument)` ahead of each iteration of a loop, and where the
/// answer is true enqueueV3() and executeV2() fail with an error; their outputs are undefined, and
/// the context can be used again. On a GPU, where the host does not wait for what it has put on the
/// stream, that ends what is put there. Null asks nobody, as it is at first. False where the
/// context is not of this library. Not to be called while the context runs.
TENSORRTAPI bool setStopFunction(nvinfer1::IExecutionContext& context, StopFunction asked,
                                 void* argument) noexcept;

/// Whether engines that the runtime loads from here on may run the device code that their plans
/// hold; they may unless this says otherwise. With `allowed` false none of it reaches the driver:
/// kernels are compiled from the library's own sources (NVRTC must be there), or taken from its
/// kernel cache, with the same results. Plans for CPUs hold no code. False when the runtime is not
/// this library's. Thread-safety is that of the runtime.
TENSORRTAPI bool setPlanCodeAllowed(nvinfer1::IRuntime& runtime, bool allowed) noexcept;

}  // namespace tenon
