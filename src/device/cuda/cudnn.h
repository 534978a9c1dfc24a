#pragma once

#include <cudnn.h>

#include <string>

#include "base/status.h"

namespace tenon::cuda {

/// The functions of cuDNN's graph interface.
struct Cudnn {
#define TENON_FUNCTION(name) decltype(&::name) name = nullptr;
#include "device/cuda/cudnn.def"
  std::string version;  ///< For people and cache keys.
};

/// Opened on first use. The error says where it was looked for.
Result<const Cudnn*> load_cudnn();

/// Why a version of cuDNN (91900 for 9.19.0) is not used, or null: known errors in functions that
/// we call.
const char* refused_cudnn(size_t version);

/// Nothing on success, else the error that a call's code stands for, with cuDNN's own last message.
Status check_cudnn(cudnnStatus_t code, const char* call);

/// `TENON_CUDNN(dnn, cudnnCreate, &handle);` with `dnn` a Cudnn: calls, and returns the error from
/// the enclosing function.
#define TENON_CUDNN(table, name, ...) \
  TENON_TRY(::tenon::cuda::check_cudnn((table).name(__VA_ARGS__), #name))

}  // namespace tenon::cuda
