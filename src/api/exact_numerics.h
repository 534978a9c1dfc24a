#pragma once

#include "NvInfer.h"

namespace tenon::api {

/// Whether builds may use plain algorithms alone: behind include/tenon/numerics.h. False for
/// objects of another library.
bool set_exact_numerics(nvinfer1::IBuilderConfig& config, bool exact);
bool has_exact_numerics(const nvinfer1::IBuilderConfig& config);
bool has_exact_numerics(const nvinfer1::ICudaEngine& engine);

}  // namespace tenon::api
