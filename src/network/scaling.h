#pragma once

#include "ir/graph.h"

namespace tenon::network {

/// Scale and zero point (maybe null) of a tensor in 8-bit integers.
struct Scaling {
  Value *scale = nullptr, *zero = nullptr;
};

/// The contents of a constant of one element, which the surface's layers put behind an identity.
const Tensor* number_of(const Value* value);

/// The scaling of a quantize or dequantize node, if it is one for the whole tensor and signed.
Scaling scaling_of(const Node& node);

/// The scaling that all readers of a value quantize it with.
Scaling scaling_of_readers(const Value& value);

}  // namespace tenon::network
