#include "passes/repeats.h"

#include <cstring>

namespace tenon {
namespace {

/// How the bytes lie around an axis.
struct Blocks {
  int64_t outer = 1, extent = 1, inner = 1;
};

Blocks blocks_of(const Tensor& tensor, int axis) {
  Blocks blocks;
  blocks.extent = tensor.extents()[static_cast<size_t>(axis)];
  blocks.inner = byte_size(tensor.type());
  for (int i = 0; i < tensor.rank(); ++i)
    if (i != axis) (i < axis ? blocks.outer : blocks.inner) *= tensor.extents()[i];
  return blocks;
}

bool repeats(const Tensor& tensor, const Blocks& blocks) {
  for (int64_t o = 0; o < blocks.outer; ++o) {
    const std::byte* first = tensor.bytes() + o * blocks.extent * blocks.inner;
    for (int64_t i = 1; i < blocks.extent; ++i)
      if (std::memcmp(first, first + i * blocks.inner, static_cast<size_t>(blocks.inner)) != 0)
        return false;
  }
  return true;
}

Tensor first_along(const Tensor& tensor, int axis, const Blocks& blocks) {
  Extents extents = tensor.extents();
  extents[static_cast<size_t>(axis)] = 1;
  Tensor result(tensor.type(), std::move(extents));
  for (int64_t o = 0; o < blocks.outer; ++o)
    std::memcpy(result.mutable_bytes() + o * blocks.inner,
                tensor.bytes() + o * blocks.extent * blocks.inner,
                static_cast<size_t>(blocks.inner));
  return result;
}

}  // namespace

std::optional<Tensor> without_repeats(const Tensor& tensor, int axes) {
  if (!tensor.defined() || tensor.count() == 0) return std::nullopt;
  std::optional<Tensor> result;
  for (int axis = 0; axis < axes; ++axis) {
    const Tensor& now = result.has_value() ? *result : tensor;
    const Blocks blocks = blocks_of(now, axis);
    if (blocks.extent > 1 && repeats(now, blocks)) result = first_along(now, axis, blocks);
  }
  return result;
}

}  // namespace tenon
