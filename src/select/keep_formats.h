#pragma once

#include "kernels/backend.h"

namespace tenon {

/// Where a plugin writes a tensor in the format in which the one plugin that reads it wants it,
/// lets the graph have the tensor in that format, so that it is not made linear between them. For
/// shapes that do not vary, and formats that pad nothing: the tensor's memory stays as it is.
/// Behind the choice of kernels.
void keep_formats(Graph& graph, const Backend& backend);

}  // namespace tenon
