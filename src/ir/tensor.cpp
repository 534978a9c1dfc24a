#include "ir/tensor.h"

#include <fmt/format.h>
#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstring>

#include "base/arithmetic.h"
#include "base/guard.h"
#include "base/large_memory.h"
#include "ir/element.h"

namespace tenon {
namespace {

/// Never null; throws OutOfMemory.
std::shared_ptr<std::byte> allocate(int64_t bytes) {
  // A tensor without elements has an address too: it is defined.
  const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 0));
  return {allocate_large(size), [size](std::byte* address) { free_large(address, size); }};
}

std::string extents_text(const Extents& extents) {
  return fmt::format("[{}]", fmt::join(extents, ","));
}

}  // namespace

int64_t element_count(const Extents& extents) {
  int64_t count = 1;
  for (const int64_t extent : extents) {
    if (extent <= 0) return 0;
    count = saturating_multiply(count, extent);
  }
  return count;
}

Result<int64_t> checked_byte_count(DataType type, const Extents& extents) {
  for (const int64_t extent : extents)
    if (extent < 0)
      return user_error("extents {} of a tensor: {} is negative", extents_text(extents), extent);
  const int64_t bytes = saturating_multiply(element_count(extents), byte_size(type));
  if (bytes > kMaxTensorBytes)
    return resource_error("a tensor {}{} would take more than {} GiB", name_of(type),
                          extents_text(extents), kMaxTensorBytes >> 30);
  return bytes;
}

Tensor::Tensor(DataType type, Extents extents) : type_(type), extents_(std::move(extents)) {
  const auto bytes = checked_byte_count(type_, extents_);
  if (!bytes.ok()) throw OutOfMemory(saturating_multiply(element_count(extents_), byte_size(type)));
  auto memory = allocate(*bytes);
  bytes_ = memory.get();
  owner_ = std::move(memory);
}

Tensor::Tensor(DataType type, Extents extents, const std::byte* bytes,
               std::shared_ptr<const void> owner)
    : type_(type), extents_(std::move(extents)), bytes_(bytes), owner_(std::move(owner)) {}

Result<Tensor> Tensor::create(DataType type, Extents extents) {
  TENON_TRY(checked_byte_count(type, extents));
  return guarded("a tensor", [&]() -> Result<Tensor> { return Tensor(type, std::move(extents)); });
}

Tensor Tensor::scalar_i64(int64_t value) {
  return of<int64_t>(DataType::kInt64, {}, std::span(&value, 1));
}

Tensor Tensor::vector_i64(std::span<const int64_t> values) {
  return of<int64_t>(DataType::kInt64, {static_cast<int64_t>(values.size())}, values);
}

Tensor Tensor::scalar_f32(float value) {
  return of<float>(DataType::kFloat32, {}, std::span<const float>(&value, 1));
}

Tensor Tensor::reshaped(Extents extents) const {
  Tensor result = *this;
  result.extents_ = std::move(extents);
  return result;
}

double Tensor::as_double(int64_t index) const {
  return with_element(type_, [&](auto element) {
    using E = decltype(element);
    return static_cast<double>(E::load(values<typename E::Storage>()[index]));
  });
}

int64_t Tensor::as_int64(int64_t index) const {
  return with_element(type_, [&](auto element) {
    using E = decltype(element);
    const auto value = E::load(values<typename E::Storage>()[index]);
    if constexpr (std::is_floating_point_v<typename E::Compute>)
      return saturate_to<int64_t>(value);
    else if constexpr (std::is_same_v<typename E::Compute, uint64_t>)
      return static_cast<int64_t>(std::min<uint64_t>(value, INT64_MAX));
    else
      return static_cast<int64_t>(value);
  });
}

void Tensor::set_from_double(int64_t index, double value) {
  with_element(type_, [&](auto element) {
    using E = decltype(element);
    using Compute = typename E::Compute;
    auto& stored = mutable_values<typename E::Storage>()[index];
    if constexpr (std::is_same_v<Compute, bool>)
      stored = E::store(value != 0);
    else if constexpr (std::is_floating_point_v<Compute>)
      stored = E::store(static_cast<Compute>(value));
    else
      stored = E::saturate(value);
  });
}

void Tensor::set_from_int64(int64_t index, int64_t value) {
  with_element(type_, [&](auto element) {
    using E = decltype(element);
    using Compute = typename E::Compute;
    auto& stored = mutable_values<typename E::Storage>()[index];
    if constexpr (std::is_same_v<Compute, bool>)
      stored = E::store(value != 0);
    else
      stored = E::store(static_cast<Compute>(value));
  });
}

std::vector<int64_t> Tensor::to_int64s() const {
  std::vector<int64_t> result(count());
  for (int64_t i = 0; i < count(); ++i) result[i] = as_int64(i);
  return result;
}

bool Tensor::operator==(const Tensor& other) const {
  if (type_ != other.type_ || extents_ != other.extents_ || defined() != other.defined())
    return false;
  if (!defined() || bytes_ == other.bytes_ || byte_count() == 0) return true;
  return std::memcmp(bytes_, other.bytes_, byte_count()) == 0;
}

std::string Tensor::content_hash() const {
  XXH3_state_t state;
  XXH3_128bits_reset(&state);
  const std::string header = fmt::format("{}{}", name_of(type_), extents_text(extents_));
  XXH3_128bits_update(&state, header.data(), header.size());
  if (defined() && byte_count() > 0) XXH3_128bits_update(&state, bytes_, byte_count());
  const XXH128_hash_t hash = XXH3_128bits_digest(&state);
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

}  // namespace tenon
