#pragma once

#include <memory>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// The results of a graph of any level without rounding on the way: its regions are written out,
/// layouts are row-major, and real values of 16 bits (with `to` = f64 of 32 bits as well) are of
/// type `to`, inputs and outputs too. Quantized types stay as they are.
Result<std::unique_ptr<Graph>> widened(const Graph& graph, DataType to = DataType::kFloat32);

/// The same numbers in the type that widened() gives them.
Tensor widened(const Tensor& tensor, DataType to = DataType::kFloat32);

/// The type that widened() gives to values of a type.
DataType widened(DataType type, DataType to);

/// Which values inside fused regions are rounded to their types: all; none, so that f32 is kept up
/// to the regions' results; results of casts; or some, by `draw`. Kernels may do any of these.
enum class RegionTypes { kOwn, kWide, kCasts, kMixed };

/// A copy whose regions are written out and whose layouts are row-major.
Result<std::unique_ptr<Graph>> written_out(const Graph& graph,
                                           RegionTypes types = RegionTypes::kOwn,
                                           uint64_t draw = 0);

}  // namespace tenon
