#pragma once

#include "NvInfer.h"
#include "kernels/tactic.h"

namespace tenon::api {

/// A library of GPUs that kernels come from, as configurations leave it out.
struct TacticLibrary {
  TacticOrigin origin;
  nvinfer1::TacticSource source;
  const char* name;  ///< Of `trtexec --tacticSources`.
};

/// Products by cuBLASLt are kCUBLAS_LT's alone: there are none by cuBLAS.
inline constexpr TacticLibrary kTacticLibraries[] = {
    {TacticOrigin::kCudnn, nvinfer1::TacticSource::kCUDNN, "CUDNN"},
    {TacticOrigin::kCublasLt, nvinfer1::TacticSource::kCUBLAS_LT, "CUBLAS_LT"}};

}  // namespace tenon::api
