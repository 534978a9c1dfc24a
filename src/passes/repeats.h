#pragma once

#include <optional>

#include "ir/tensor.h"

namespace tenon {

/// The tensor with extent 1 along those of its first `axes` axes along which all slices are equal,
/// byte for byte; nothing where there is no such axis.
std::optional<Tensor> without_repeats(const Tensor& tensor, int axes);

}  // namespace tenon
