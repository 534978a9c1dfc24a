#pragma once

#include <vector>

#include "kernels/cudnn/graph.h"

namespace tenon::cudnn {

/// A tensor as cuDNN sees it: at least 4 axes in logical order.
struct Shape {
  std::vector<int64_t> extents, strides;
  int64_t alignment = 16;

  TensorId in(Graph& graph, cudnnDataType_t type) const {
    return graph.tensor(type, extents, strides, alignment);
  }
};

}  // namespace tenon::cudnn
