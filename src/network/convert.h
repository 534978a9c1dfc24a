#pragma once

#include <optional>

#include "NvInferRuntime.h"
#include "ir/graph.h"

namespace tenon::network {

/// The public type, or nothing for types that the surface has no word for (f64, 16-bit integers,
/// ...).
std::optional<nvinfer1::DataType> to_public(DataType type);
/// Every public type has ours.
DataType from_public(nvinfer1::DataType type);

/// Symbolic extents are -1. Shapes of more than 8 axes give nbDims -1.
nvinfer1::Dims to_dims(const Shape& shape);
nvinfer1::Dims to_dims(const Extents& extents);
Extents to_extents(const nvinfer1::Dims& dims);

}  // namespace tenon::network
