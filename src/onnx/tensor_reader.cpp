#include "onnx/tensor_reader.h"

#include <charconv>
#include <cstring>
#include <limits>
#include <optional>

#include "base/printable.h"
#include "onnx/type_reader.h"
#include "onnx_proto/onnx.pb.h"

namespace tenon::importer {
namespace {

using ::onnx::TensorProto;

/// Raw data at least this large is referred to, not copied.
constexpr int64_t kShareBytes = 4096;

std::string label(const TensorProto& proto) {
  return proto.name().empty() ? std::string("tensor")
                              : fmt::format("tensor \"{}\"", clipped(proto.name(), 200));
}

/// Elements narrower than a byte, lowest bits first, one byte each in memory.
void unpack(DataType type, const std::byte* packed, int64_t count, std::byte* out) {
  const int bits = file_bits(type);
  const int a_byte = 8 / bits;
  const bool is_signed = type == DataType::kInt4 || type == DataType::kInt2;
  for (int64_t i = 0; i < count; ++i) {
    int value =
        (std::to_integer<int>(packed[i / a_byte]) >> (i % a_byte * bits)) & ((1 << bits) - 1);
    if (is_signed && (value >> (bits - 1)) != 0) value -= 1 << bits;
    out[i] = static_cast<std::byte>(value);
  }
}

/// Bytes of a file as a tensor; shares them through `owner` where size and alignment allow.
Tensor from_file_bytes(DataType type, Extents extents, const std::byte* data, int64_t count,
                       const std::shared_ptr<const void>& owner) {
  const bool packed = file_bits(type) < 8;
  const bool aligned =
      reinterpret_cast<uintptr_t>(data) % static_cast<uintptr_t>(byte_size(type)) == 0;
  const int64_t bytes = count * byte_size(type);
  if (!packed && aligned && bytes >= kShareBytes && type != DataType::kBool)
    return Tensor(type, std::move(extents), data, owner);
  Tensor result(type, std::move(extents));
  if (packed) {
    unpack(type, data, count, result.mutable_bytes());
  } else if (type == DataType::kBool) {
    for (int64_t i = 0; i < count; ++i)
      result.mutable_bytes()[i] = static_cast<std::byte>(data[i] != std::byte{0});
  } else if (bytes > 0) {
    std::memcpy(result.mutable_bytes(), data, static_cast<size_t>(bytes));
  }
  return result;
}

template <class T, class Field>
Result<Tensor> from_field(const TensorProto& proto, DataType type, Extents extents,
                          const Field& field) {
  Tensor result(type, std::move(extents));
  const int64_t count = result.count();
  for (int64_t i = 0; i < count; ++i)
    result.mutable_values<T>()[static_cast<size_t>(i)] =
        static_cast<T>(field.Get(static_cast<int>(i)));
  (void)proto;
  return result;
}

/// The typed field that holds elements of `type`, as a number of entries.
int64_t field_size(const TensorProto& proto, DataType type) {
  switch (type) {
    case DataType::kFloat32: return proto.float_data_size();
    case DataType::kFloat64: return proto.double_data_size();
    case DataType::kInt64: return proto.int64_data_size();
    case DataType::kUInt32:
    case DataType::kUInt64: return proto.uint64_data_size();
    default: return proto.int32_data_size();
  }
}

Result<Tensor> from_packed_field(const TensorProto& proto, DataType type, Extents extents) {
  std::vector<std::byte> packed;
  packed.reserve(static_cast<size_t>(proto.int32_data_size()));
  for (int32_t entry : proto.int32_data()) packed.push_back(static_cast<std::byte>(entry & 0xff));
  Tensor result(type, std::move(extents));
  unpack(type, packed.data(), result.count(), result.mutable_bytes());
  return result;
}

Result<Tensor> from_typed_field(const TensorProto& proto, DataType type, Extents extents,
                                int64_t count) {
  const bool packed = file_bits(type) < 8;
  const int64_t needed = packed ? file_bytes(type, count) : count;
  const int64_t there = field_size(proto, type);
  if (there != needed)
    return user_error("{}: its extents ask for {} entries of {}, but {} are there", label(proto),
                      needed, onnx_type_name(proto.data_type()), there);
  if (packed) return from_packed_field(proto, type, std::move(extents));
  switch (type) {
    case DataType::kFloat32:
      return from_field<float>(proto, type, std::move(extents), proto.float_data());
    case DataType::kFloat64:
      return from_field<double>(proto, type, std::move(extents), proto.double_data());
    case DataType::kInt64:
      return from_field<int64_t>(proto, type, std::move(extents), proto.int64_data());
    case DataType::kUInt32:
      return from_field<uint32_t>(proto, type, std::move(extents), proto.uint64_data());
    case DataType::kUInt64:
      return from_field<uint64_t>(proto, type, std::move(extents), proto.uint64_data());
    case DataType::kBool: {
      Tensor result(type, std::move(extents));
      for (int i = 0; i < count; ++i)
        result.mutable_bytes()[i] = static_cast<std::byte>(proto.int32_data(i) != 0);
      return result;
    }
    default: break;
  }
  switch (byte_size(type)) {
    case 1: return from_field<uint8_t>(proto, type, std::move(extents), proto.int32_data());
    case 2: return from_field<uint16_t>(proto, type, std::move(extents), proto.int32_data());
    default: return from_field<int32_t>(proto, type, std::move(extents), proto.int32_data());
  }
}

std::optional<uint64_t> to_number(const std::string& text) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Tensor clamped_to_float(const Tensor& wide) {
  Tensor result(DataType::kFloat32, wide.extents());
  constexpr double kMax = std::numeric_limits<float>::max();
  for (int64_t i = 0; i < wide.count(); ++i) {
    const double value = wide.values<double>()[static_cast<size_t>(i)];
    result.mutable_values<float>()[static_cast<size_t>(i)] =
        static_cast<float>(value > kMax ? kMax : (value < -kMax ? -kMax : value));
  }
  return result;
}

Result<int64_t> checked_count(const Extents& extents) {
  // Sixteen bytes an element at most: the product must leave room for them.
  constexpr int64_t kLimit = std::numeric_limits<int64_t>::max() / 16;
  int64_t count = 1;
  for (int64_t extent : extents) {
    if (extent < 0) return user_error("extent {} is negative", extent);
    if (extent != 0 && count > kLimit / extent)
      return user_error("the number of elements overflows");
    count *= extent;
  }
  return count;
}

Result<Tensor> TensorReader::read(const TensorProto& proto) {
  const auto found = cache_.find(&proto);
  if (found != cache_.end()) return found->second;
  TENON_ASSIGN(Tensor result, read_uncached(proto));
  if (double_as_float_ && result.type() == DataType::kFloat64) result = clamped_to_float(result);
  cache_.emplace(&proto, result);
  return result;
}

Result<Tensor> TensorReader::read_uncached(const TensorProto& proto) {
  const std::optional<DataType> type = data_type_of(proto.data_type());
  if (!type)
    return unsupported("{} has element type {}, which is not imported", label(proto),
                       onnx_type_name(proto.data_type()));
  if (proto.has_segment()) return unsupported("{} is stored in segments", label(proto));
  if (proto.dims_size() > 64) return user_error("{} has rank {}", label(proto), proto.dims_size());
  Extents extents(proto.dims().begin(), proto.dims().end());
  if (auto count = checked_count(extents); !count.ok())
    return std::move(count).error().with_context(label(proto));
  if (proto.data_location() == TensorProto::EXTERNAL)
    return from_external(proto, *type, std::move(extents));
  return from_bytes(proto, *type, std::move(extents));
}

Result<Tensor> TensorReader::from_bytes(const TensorProto& proto, DataType type, Extents extents) {
  const int64_t count = element_count(extents);
  if (!proto.has_raw_data()) return from_typed_field(proto, type, std::move(extents), count);
  const std::string& raw = proto.raw_data();
  const int64_t needed = file_bytes(type, count);
  if (static_cast<int64_t>(raw.size()) != needed)
    return user_error("{}: its extents ask for {} bytes of {}, but {} are there", label(proto),
                      needed, onnx_type_name(proto.data_type()), raw.size());
  return from_file_bytes(type, std::move(extents), reinterpret_cast<const std::byte*>(raw.data()),
                         count, model_);
}

Result<Tensor> TensorReader::from_external(const TensorProto& proto, DataType type,
                                           Extents extents) {
  std::string location;
  uint64_t offset = 0, length = 0;
  for (const auto& entry : proto.external_data()) {
    if (entry.key() == "location") location = entry.value();
    if (entry.key() != "offset" && entry.key() != "length") continue;
    const std::optional<uint64_t> number = to_number(entry.value());
    if (!number)
      return user_error("{}: external data {} \"{}\" is not a number", label(proto), entry.key(),
                        clipped(entry.value(), 64));
    (entry.key() == "offset" ? offset : length) = *number;
  }
  const int64_t count = element_count(extents);
  const auto needed = static_cast<uint64_t>(file_bytes(type, count));
  if (length != 0 && length != needed)
    return user_error("{}: its extents ask for {} bytes, but external data has length {}",
                      label(proto), needed, length);
  if (needed == 0) return Tensor(type, std::move(extents));
  auto bytes = folder_.map(location, offset, needed);
  if (!bytes.ok()) return std::move(bytes).error().with_context(label(proto));
  return from_file_bytes(type, std::move(extents), bytes->data, count, bytes->owner);
}

Result<Tensor> TensorReader::read(const ::onnx::SparseTensorProto& proto) {
  TENON_ASSIGN(Tensor values, read(proto.values()));
  TENON_ASSIGN(Tensor indices, read(proto.indices()));
  const Extents extents(proto.dims().begin(), proto.dims().end());
  const std::string name = label(proto.values());
  TENON_ASSIGN(const int64_t total, checked_count(extents));
  // A dense tensor is made of it, which the file's size does not bound.
  if (total > (int64_t{1} << 24))
    return unsupported("sparse {} would be dense with {} elements", name, total);
  const int64_t count = values.count();
  const auto rank = static_cast<int64_t>(extents.size());
  const bool flat = indices.rank() == 1;
  if (indices.type() != DataType::kInt64 || indices.count() != (flat ? count : count * rank))
    return user_error("sparse {}: its indices do not match its values", name);
  Tensor dense(values.type(), extents);
  if (dense.byte_count() > 0)
    std::memset(dense.mutable_bytes(), 0, static_cast<size_t>(dense.byte_count()));
  const int size = byte_size(values.type());
  for (int64_t i = 0; i < count; ++i) {
    int64_t position = flat ? indices.as_int64(i) : 0;
    for (int64_t axis = 0; !flat && axis < rank; ++axis) {
      const int64_t index = indices.as_int64(i * rank + axis);
      if (index < 0 || index >= extents[static_cast<size_t>(axis)])
        return user_error("sparse {}: index out of range", name);
      position = position * extents[static_cast<size_t>(axis)] + index;
    }
    if (position < 0 || position >= total) return user_error("sparse {}: index out of range", name);
    std::memcpy(dense.mutable_bytes() + position * size, values.bytes() + i * size,
                static_cast<size_t>(size));
  }
  return dense;
}

}  // namespace tenon::importer
