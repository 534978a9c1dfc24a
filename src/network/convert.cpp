#include "network/convert.h"

#include <algorithm>
#include <functional>

namespace tenon::network {
namespace {

using Public = nvinfer1::DataType;

struct Pair {
  Public other;
  DataType ours;
};

constexpr Pair kPairs[] = {
    {Public::kFLOAT, DataType::kFloat32},  {Public::kHALF, DataType::kFloat16},
    {Public::kINT8, DataType::kInt8},      {Public::kINT32, DataType::kInt32},
    {Public::kBOOL, DataType::kBool},      {Public::kUINT8, DataType::kUInt8},
    {Public::kFP8, DataType::kFloat8E4M3}, {Public::kBF16, DataType::kBFloat16},
    {Public::kINT64, DataType::kInt64},    {Public::kINT4, DataType::kInt4},
    {Public::kFP4, DataType::kFloat4E2M1}, {Public::kE8M0, DataType::kFloat8E8M0},
};

}  // namespace

std::optional<Public> to_public(DataType type) {
  for (const Pair& pair : kPairs)
    if (pair.ours == type) return pair.other;
  return std::nullopt;
}

DataType from_public(Public type) {
  for (const Pair& pair : kPairs)
    if (pair.other == type) return pair.ours;
  return DataType::kFloat32;
}

namespace {

/// Of each element's `extent`, without memory of the heap: getters have no way to say that none is
/// left.
template <class Elements, class Extent>
nvinfer1::Dims dims_of(const Elements& elements, const Extent& extent) {
  nvinfer1::Dims dims{};
  if (elements.size() > nvinfer1::Dims::MAX_DIMS) {
    dims.nbDims = -1;
    return dims;
  }
  dims.nbDims = static_cast<int32_t>(elements.size());
  std::ranges::transform(elements, dims.d, extent);
  return dims;
}

}  // namespace

nvinfer1::Dims to_dims(const Extents& extents) {
  return dims_of(extents, std::identity());
}

nvinfer1::Dims to_dims(const Shape& shape) {
  return dims_of(shape, [](const Dim& dim) { return dim.is_constant() ? dim.constant() : -1; });
}

nvinfer1::Dims known_dims(const Shape& shape) {
  const nvinfer1::Dims dims = to_dims(shape);
  const bool known = std::ranges::all_of(shape, [](const Dim& dim) { return dim.is_constant(); });
  return known ? dims : nvinfer1::Dims{-1, {}};
}

Extents to_extents(const nvinfer1::Dims& dims) {
  return Extents(dims.d, dims.d + std::clamp<int32_t>(dims.nbDims, 0, nvinfer1::Dims::MAX_DIMS));
}

std::vector<int64_t> to_integers(const nvinfer1::Dims& dims) {
  return to_extents(dims);
}

std::vector<int64_t> axes_of_mask(uint32_t mask) {
  std::vector<int64_t> axes;
  for (int i = 0; i < 32; ++i)
    if ((mask >> i & 1U) != 0) axes.push_back(i);
  return axes;
}

bool is_half_a_byte(Public type) {
  return type == Public::kINT4 || type == Public::kFP4;
}

size_t byte_count(const nvinfer1::Weights& weights) {
  return static_cast<size_t>(is_half_a_byte(weights.type)
                                 ? (weights.count + 1) / 2
                                 : weights.count * byte_size(from_public(weights.type)));
}

Tensor to_tensor(const nvinfer1::Weights& weights, Extents extents) {
  const DataType type = from_public(weights.type);
  const auto* bytes = static_cast<const std::byte*>(weights.values);
  if (!is_half_a_byte(weights.type)) return Tensor(type, std::move(extents), bytes, nullptr);
  Tensor tensor(type, std::move(extents));
  const bool is_signed = weights.type == Public::kINT4;
  for (int64_t i = 0; i < weights.count; ++i) {
    int value = std::to_integer<int>(bytes[i / 2]) >> (i % 2 * 4) & 15;
    if (is_signed && value > 7) value -= 16;
    tensor.mutable_bytes()[i] = static_cast<std::byte>(value);
  }
  return tensor;
}

}  // namespace tenon::network
