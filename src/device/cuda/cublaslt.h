#pragma once

#include <cublasLt.h>

#include <string>

#include "base/status.h"

namespace tenon::cuda {

/// The functions of cuBLASLt.
struct CublasLt {
#define TENON_FUNCTION(name) decltype(&::name) name = nullptr;
#include "device/cuda/cublaslt.def"
  std::string version;  ///< For people and cache keys.
};

/// Opened on first use. The error says where it was looked for.
Result<const CublasLt*> load_cublaslt();

/// Nothing on success, else the error that a call's code stands for.
Status check_cublaslt(cublasStatus_t code, const char* call);

/// `TENON_CUBLASLT(lt, cublasLtCreate, &handle);` with `lt` a CublasLt: calls, and returns the
/// error from the enclosing function.
#define TENON_CUBLASLT(table, name, ...) \
  TENON_TRY(::tenon::cuda::check_cublaslt((table).name(__VA_ARGS__), #name))

}  // namespace tenon::cuda
