#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "ir/data_type.h"

namespace tenon {

/// Extents of a concrete tensor.
using Extents = std::vector<int64_t>;

/// Product of the extents; INT64_MAX where it does not fit, 0 where an extent is negative.
int64_t element_count(const Extents& extents);
/// Bytes of such a tensor, or an error when the extents are negative or the product is beyond
/// kMaxTensorBytes.
Result<int64_t> checked_byte_count(DataType type, const Extents& extents);
inline constexpr int64_t kMaxTensorBytes = int64_t{1} << 40;

/// A dense row-major host tensor. Copies share the bytes, which are immutable once shared: weights
/// can be large and several graphs hold the same ones. Writers fill a tensor right after creating
/// it.
class Tensor {
 public:
  Tensor() = default;
  /// Bytes uninitialised, 64-byte aligned. Throws std::bad_alloc like a std::vector when there is
  /// no such memory; evaluate_node and evaluate_graph turn that into an Error.
  Tensor(DataType type, Extents extents);
  /// The same with an Error instead of an exception, for extents that come from outside.
  static Result<Tensor> create(DataType type, Extents extents);
  /// Bytes owned by `owner` (a mapped file, say), not copied.
  Tensor(DataType type, Extents extents, const std::byte* bytes, std::shared_ptr<const void> owner);
  template <class T> static Tensor of(DataType type, Extents extents, std::span<const T> values);
  static Tensor scalar_i64(int64_t value);
  static Tensor vector_i64(std::span<const int64_t> values);
  static Tensor scalar_f32(float value);

  DataType type() const { return type_; }
  const Extents& extents() const { return extents_; }
  int rank() const { return static_cast<int>(extents_.size()); }
  int64_t count() const { return element_count(extents_); }
  int64_t byte_count() const { return count() * byte_size(type_); }
  /// False for no tensor, and for one whose contents were left out: only type and extents are
  /// there.
  bool defined() const { return bytes_ != nullptr; }

  const std::byte* bytes() const { return bytes_; }
  /// Only right after creation, before the tensor is shared.
  std::byte* mutable_bytes() { return const_cast<std::byte*>(bytes_); }
  /// T must have the element's size.
  template <class T> std::span<const T> values() const {
    return {reinterpret_cast<const T*>(bytes_), static_cast<size_t>(count())};
  }
  template <class T> std::span<T> mutable_values() {
    return {reinterpret_cast<T*>(mutable_bytes()), static_cast<size_t>(count())};
  }

  /// The same bytes under other extents of the same count.
  Tensor reshaped(Extents extents) const;
  /// Element `index` converted to double or to a saturated int64, whatever the type.
  double as_double(int64_t index) const;
  int64_t as_int64(int64_t index) const;
  /// Stores a value converted to the element type: rounded to nearest even for real types (8-bit
  /// ones saturate), truncated and saturated for integers.
  void set_from_double(int64_t index, double value);
  /// The same for integers: wrapped where the type is narrower, as ONNX's Cast.
  void set_from_int64(int64_t index, int64_t value);
  /// All elements as int64; for small integer tensors such as shapes.
  std::vector<int64_t> to_int64s() const;

  /// Same type, extents and bytes.
  bool operator==(const Tensor& other) const;
  /// XXH3-128 of type, extents and bytes, as 32 hex digits.
  std::string content_hash() const;

 private:
  DataType type_ = DataType::kFloat32;
  Extents extents_;
  const std::byte* bytes_ = nullptr;
  std::shared_ptr<const void> owner_;
};

template <class T> Tensor Tensor::of(DataType type, Extents extents, std::span<const T> values) {
  Tensor result(type, std::move(extents));
  std::copy(values.begin(), values.end(), reinterpret_cast<T*>(result.mutable_bytes()));
  return result;
}

}  // namespace tenon
