#pragma once

/// The two CUDA handles that the public headers name, as CUDA declares them: where its headers are,
/// they are used.
#if __has_include(<cuda_runtime_api.h>)
#include <cuda_runtime_api.h>
#else
typedef struct CUstream_st* cudaStream_t;
typedef struct CUevent_st* cudaEvent_t;
#endif
