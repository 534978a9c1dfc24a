#pragma once

#include <vector>

#include "ops/context.h"

namespace tenon {

/// Shared by loop and scan.

/// Infers a body whose inputs [first, first + count) get their values from the node's inputs
/// [node_first, ...) first and then from the body's outputs [body_first, ...). Extents that change
/// become symbols. The body's other inputs have been set.
Status infer_carried(InferContext& context, Graph& body, int node_first, int first, int body_first,
                     int count);

/// Collects equal slices and stacks them along an axis.
class Stack {
 public:
  void append(Tensor slice) { slices_.push_back(std::move(slice)); }
  void reverse();
  /// `type`, when there is no slice: the body's, for extents and type.
  Result<Tensor> along(int64_t axis, const TensorType& type, const EvalContext& context) const;

 private:
  std::vector<Tensor> slices_;
};

/// Slice `index` along `axis`, which is dropped.
Tensor slice_at(const Tensor& tensor, int axis, int64_t index);

}  // namespace tenon
