#pragma once

#include "kernels/cudnn/graph.h"
#include "kernels/region.h"

namespace tenon::cudnn {

/// Pointwise nodes that a step of an epilogue takes; 0 for functions that cuDNN has none for.
int nodes_of(const RegionStep& step);

/// The running value of an epilogue in a graph. Each node's result is intermediate but that of the
/// last one.
class Running {
 public:
  Running(Graph& graph, std::vector<int64_t> extents, std::vector<int64_t> strides, TensorId result)
      : graph_(graph),
        extents_(std::move(extents)),
        strides_(std::move(strides)),
        result_(result) {}

  /// Announces nodes. All are announced before the first is made.
  void expect(int nodes) { nodes_ += nodes; }
  /// The tensor that the next node writes: the anchor's first, then those of the steps.
  TensorId next();
  Status append(const RegionStep& step, TensorId operand);

 private:
  void unary(cudnnPointwiseMode_t mode, const PointwiseOptions& options = {});
  void binary(cudnnPointwiseMode_t mode, TensorId x, TensorId b);
  TensorId number(double value);

  Graph& graph_;
  std::vector<int64_t> extents_, strides_;
  TensorId result_, value_ = -1;
  int nodes_ = 1;
};

}  // namespace tenon::cudnn
