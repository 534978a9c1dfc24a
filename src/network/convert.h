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
/// The same with nbDims -1 where an extent is symbolic: the surface's word for unknown dimensions.
nvinfer1::Dims known_dims(const Shape& shape);
Extents to_extents(const nvinfer1::Dims& dims);
/// As an integer operand of the graph.
std::vector<int64_t> to_integers(const nvinfer1::Dims& dims);

/// The axes of a bit mask, in order.
std::vector<int64_t> axes_of_mask(uint32_t mask);

/// Of whose elements the application has two in a byte, and our tensors one.
bool is_half_a_byte(nvinfer1::DataType type);

/// Bytes that the weights take where the application has them: two of half a byte in each.
size_t byte_count(const nvinfer1::Weights& weights);

/// The weights' bytes, not copied: they must live as long as the network. Types of half a byte are
/// unpacked. The count must fit.
Tensor to_tensor(const nvinfer1::Weights& weights, Extents extents);

}  // namespace tenon::network
