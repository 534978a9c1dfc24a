#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "NvInferRuntime.h"
#include "ir/tensor.h"

namespace tenon::network {

/// Constants of a parsed model that layers hand out as weights (IConstantLayer::getWeights). The
/// bytes stay until the network dies, whatever becomes of the nodes that they came from, and
/// weights that come back stand for the very constant, with its type and without a copy.
class HeldWeights {
 public:
  /// None (no values, a count of 0) for a null tensor and for one without contents. Types that the
  /// surface has no word for are given in the next wider one that it has.
  nvinfer1::Weights hold(const Tensor* tensor);
  /// The same weights as applications read them: types of half a byte are packed at the first call.
  nvinfer1::Weights packed(const nvinfer1::Weights& weights);
  /// The constant that the weights came from; null for the application's own.
  const Tensor* find(const nvinfer1::Weights& weights) const;

 private:
  using Key = std::tuple<const void*, nvinfer1::DataType, int64_t>;  // Address, type, count.
  static Key key_of(const nvinfer1::Weights& weights) {
    return {weights.values, weights.type, weights.count};
  }

  std::map<Key, Tensor> constants_;
  std::map<Key, nvinfer1::Weights> packed_;  ///< By the result of hold().
  std::vector<Tensor> copies_;               ///< In other types, and packed.
};

}  // namespace tenon::network
