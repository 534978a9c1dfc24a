#pragma once

#include <cuda.h>

#include "base/status.h"

// Of cudaProfiler.h, which not all of NVIDIA's packages of headers hold.
extern "C" CUresult cuProfilerStart();
extern "C" CUresult cuProfilerStop();

namespace tenon::cuda {

/// The driver's functions, from libcuda.so.1.
struct Driver {
#define TENON_FUNCTION(name) decltype(&::name) name = nullptr;
#include "device/cuda/driver.def"
  decltype(&::cuCtxGetId) cuCtxGetId = nullptr;  ///< Null before 12.0.
  int version = 0;                               ///< 13000 for 13.0.
};

/// Opens and initializes the driver on first use. Where there is none, or no GPU, the error is of
/// kind kUnsupported; where there is one that cannot be used, of another.
Result<const Driver*> load_driver();
/// After load_driver() has succeeded, as it has wherever there is a CudaDevice.
const Driver& driver();

/// The error that a driver call's code stands for. Running out of memory is named as such.
Error driver_error(CUresult code, const char* call);

/// `TENON_DRIVER(cuMemAlloc, &address, bytes);` calls, and returns the error from the enclosing
/// function.
#define TENON_DRIVER(name, ...)                                              \
  do {                                                                       \
    const CUresult tenon_code = ::tenon::cuda::driver().name(__VA_ARGS__);   \
    if (tenon_code != CUDA_SUCCESS)                                          \
      return ::tenon::cuda::driver_error(tenon_code, TENON_CUDA_CALL(name)); \
  } while (false)
#define TENON_CUDA_CALL_INNER(name) #name
#define TENON_CUDA_CALL(name) TENON_CUDA_CALL_INNER(name)

}  // namespace tenon::cuda
