#include "operand.h"

#include <cstring>

namespace tenon::conformance {
namespace {

constexpr int64_t kGap = 5;

/// The extents of the tensor that a strided operand is a part of.
Extents around(Extents extents, Placement placement) {
  if (extents.empty()) return extents;
  if (placement == Placement::kStrided || placement == Placement::kSliced) extents.back() += kGap;
  if (placement == Placement::kStridedChannelsLast && extents.size() > 2) extents[1] += kGap;
  if (placement == Placement::kSliced && extents.size() > 1) extents[extents.size() - 2] += kGap;
  return extents;
}

}  // namespace

Placed::Placed(DataType type, const Extents& extents, Placement placement) {
  const bool last = extents.size() > 2 && (placement == Placement::kChannelsLast ||
                                           placement == Placement::kStridedChannelsLast);
  const Extents whole = around(extents, placement);
  const Layout layout = last ? Layout::kChannelsLast : Layout::kRowMajor;
  strides_ = dense_strides(whole, layout);
  operand_ = {.present = true, .type = type, .extents = extents, .layout = layout};
  if (whole != extents) operand_.strides = strides_;
  element_ = static_cast<size_t>(byte_size(type));
  bytes_.assign(2 * kBefore + static_cast<size_t>(element_count(whole)) * element_, kPattern);
}

void Placed::poison() {
  std::fill(bytes_.begin(), bytes_.end(), kPattern);
}

size_t Placed::offset(int64_t element) const {
  int64_t at = 0;
  for (int axis = operand_.rank() - 1; axis >= 0; --axis) {
    at += element % operand_.extents[axis] * strides_[axis];
    element /= operand_.extents[axis];
  }
  return kBefore + static_cast<size_t>(at) * element_;
}

void Placed::fill(const Tensor& tensor) {
  for (int64_t i = 0; i < tensor.count(); ++i)
    std::memcpy(&bytes_[offset(i)], tensor.bytes() + static_cast<size_t>(i) * element_, element_);
}

Tensor Placed::read() const {
  Tensor tensor(operand_.type, operand_.extents);
  for (int64_t i = 0; i < tensor.count(); ++i)
    std::memcpy(tensor.mutable_bytes() + static_cast<size_t>(i) * element_, &bytes_[offset(i)],
                element_);
  return tensor;
}

bool Placed::untouched() const {
  std::vector<uint8_t> rest = bytes_;
  for (int64_t i = 0; i < operand_.count(); ++i) std::memset(&rest[offset(i)], kPattern, element_);
  for (const uint8_t byte : rest)
    if (byte != kPattern) return false;
  return true;
}

}  // namespace tenon::conformance
