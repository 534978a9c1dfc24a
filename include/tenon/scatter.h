#pragma once

/// Scatters that combine: TensorRT's replace.

#include "NvInfer.h"

namespace tenon {

/// The new value of an element, of its old one and of an update. Updates of one element are taken
/// one after the other.
enum class ScatterUpdate : int32_t {
  /// The update itself.
  kREPLACE = 0,
  /// Their sum.
  kADD = 1,
  /// Their product.
  kMULTIPLY = 2,
  /// The smaller of the two.
  kMIN = 3,
  /// The larger of the two.
  kMAX = 4,
};

/// Sets what a layer of addScatter() makes of its updates. Default: kREPLACE. Returns false, and
/// changes nothing, for other values and for a layer of another library.
TENSORRTAPI bool setScatterUpdate(nvinfer1::IScatterLayer& layer, ScatterUpdate update) noexcept;

}  // namespace tenon
