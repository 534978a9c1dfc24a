#pragma once

/// Recurrent layers as one layer each: TensorRT's classes have loops alone.

#include "NvInfer.h"

namespace tenon {

/// Cells of recurrent layers, with the gates that weights hold in this order.
enum class RecurrentCell : int32_t {
  /// Input, output, forget, cell.
  kLSTM = 0,
  /// Update, reset, hidden. The reset gate is applied behind the product with the state.
  kGRU = 1,
  /// One gate, of hyperbolic tangent.
  kTANH = 2,
  /// One gate, of max(x, 0).
  kRELU = 3,
};

/// Adds a recurrent layer. Operands: the sequence [length, batch, inputs]; weights of inputs
/// [directions, gates x hidden, inputs] and of states [directions, gates x hidden, hidden]; biases
/// of both [directions, 2 x gates x hidden]; and, or neither, first states [directions, batch,
/// hidden] and an LSTM's first cells, of the same extents. One direction is forward, two are
/// forward and backward. Outputs: states [length, directions, batch, hidden], the last ones
/// [directions, batch, hidden], and an LSTM's last cells. Null, with an error logged, for other
/// operands; null for a network of another library.
TENSORRTAPI nvinfer1::ILayer* addRecurrence(nvinfer1::INetworkDefinition& network,
                                            RecurrentCell cell, nvinfer1::ITensor* const* operands,
                                            int32_t count) noexcept;

}  // namespace tenon
