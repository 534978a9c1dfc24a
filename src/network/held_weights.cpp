#include "network/held_weights.h"

#include "network/convert.h"

namespace tenon::network {
namespace {

using nvinfer1::Weights;
using Public = nvinfer1::DataType;

/// For a type without a public name. Neighbours hold all values but those of 64 bits, which
/// saturate.
Public nearest_public(DataType type) {
  if (is_real(type)) return Public::kFLOAT;
  return byte_size(type) > 2 ? Public::kINT64 : Public::kINT32;
}

Tensor converted(const Tensor& tensor, DataType to) {
  Tensor result(to, tensor.extents());
  for (int64_t i = 0; i < tensor.count(); ++i)
    if (is_real(to))
      result.set_from_double(i, tensor.as_double(i));
    else
      result.set_from_int64(i, tensor.as_int64(i));
  return result;
}

/// Two elements a byte, the first in the lower half.
Tensor packed_pairs(const Weights& weights) {
  const auto* bytes = static_cast<const std::byte*>(weights.values);
  Tensor result(DataType::kUInt8, {static_cast<int64_t>(byte_count(weights))});
  for (int64_t i = 0; i < weights.count; i += 2) {
    const std::byte second = i + 1 < weights.count ? bytes[i + 1] : std::byte{0};
    result.mutable_bytes()[i / 2] = (bytes[i] & std::byte{15}) | (second << 4);
  }
  return result;
}

}  // namespace

Weights HeldWeights::hold(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->defined()) return {Public::kFLOAT, nullptr, 0};
  const auto type = to_public(tensor->type());
  const std::byte* bytes = tensor->bytes();
  if (!type.has_value()) {
    copies_.push_back(converted(*tensor, from_public(nearest_public(tensor->type()))));
    bytes = copies_.back().bytes();
  }
  const Weights weights{type.value_or(nearest_public(tensor->type())), bytes, tensor->count()};
  constants_.insert_or_assign(key_of(weights), *tensor);
  return weights;
}

Weights HeldWeights::packed(const Weights& weights) {
  const Tensor* constant = find(weights);
  // Packed values have another address than the constant.
  if (constant == nullptr || !is_half_a_byte(weights.type) || constant->bytes() != weights.values)
    return weights;
  const auto [place, is_new] = packed_.try_emplace(key_of(weights), weights);
  if (is_new) {
    copies_.push_back(packed_pairs(weights));
    place->second.values = copies_.back().bytes();
    constants_.insert_or_assign(key_of(place->second), Tensor(*constant));
  }
  return place->second;
}

const Tensor* HeldWeights::find(const Weights& weights) const {
  const auto found = constants_.find(key_of(weights));
  return found == constants_.end() ? nullptr : &found->second;
}

}  // namespace tenon::network
