#include "tools/arrays.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>

#include "base/float_formats.h"
#include "tools/exports.h"

namespace tenon::tools {
namespace {

using nvinfer1::DataType;
using Bytes = std::span<const char>;

template <class T> T number_at(Bytes bytes, size_t place) {
  T value{};
  std::memcpy(&value, bytes.data() + place, sizeof(T));
  return value;
}

/// The text behind "'key':" in an array's header, up to `end`.
std::string_view header_value(std::string_view header, std::string_view key, char end) {
  const size_t found = header.find(key);
  if (found == std::string_view::npos) return {};
  const std::string_view rest = header.substr(found + key.size());
  return rest.substr(0, rest.find(end));
}

/// "(100, 3, 8)" to extents; false for others.
bool parse_extents(std::string_view text, nvinfer1::Dims& dims) {
  dims.nbDims = 0;
  while (!text.empty()) {
    const size_t digit = text.find_first_of("0123456789");
    if (digit == std::string_view::npos) return true;
    if (dims.nbDims == nvinfer1::Dims::MAX_DIMS) return false;
    text.remove_prefix(digit);
    int64_t& extent = dims.d[dims.nbDims++];
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (error != std::errc()) return false;
    text.remove_prefix(static_cast<size_t>(end - text.data()));
  }
  return true;
}

template <class From, class To> std::vector<char> converted(Bytes data) {
  std::vector<char> result(data.size() / sizeof(From) * sizeof(To));
  for (size_t i = 0; i < data.size() / sizeof(From); ++i) {
    const To value = static_cast<To>(number_at<From>(data, i * sizeof(From)));
    std::memcpy(result.data() + i * sizeof(To), &value, sizeof(To));
  }
  return result;
}

std::vector<char> from_halves(Bytes data) {
  std::vector<char> result(data.size() * 2);
  for (size_t i = 0; i < data.size() / 2; ++i) {
    const float value = f16_to_float(number_at<uint16_t>(data, i * 2));
    std::memcpy(result.data() + i * 4, &value, 4);
  }
  return result;
}

std::vector<char> as_they_are(Bytes data) {
  return {data.begin(), data.end()};
}

struct TypeRow {
  std::string_view word;  ///< numpy's, without the byte order.
  size_t bytes;
  DataType type;
  std::vector<char> (*convert)(Bytes);
};
constexpr TypeRow kTypes[] = {
    {"f4", 4, DataType::kFLOAT, as_they_are},
    {"f8", 8, DataType::kFLOAT, converted<double, float>},
    {"f2", 2, DataType::kFLOAT, from_halves},
    {"i4", 4, DataType::kINT32, as_they_are},
    {"i8", 8, DataType::kINT64, as_they_are},
    {"i2", 2, DataType::kINT32, converted<int16_t, int32_t>},
    {"u2", 2, DataType::kINT32, converted<uint16_t, int32_t>},
    {"i1", 1, DataType::kINT8, as_they_are},
    {"u1", 1, DataType::kUINT8, as_they_are},
    {"b1", 1, DataType::kBOOL, as_they_are},
};

Result<NumpyArray> parse_array(std::string name, Bytes bytes) {
  const auto broken = [&](std::string_view why) {
    return user_error("the array '{}' cannot be read: {}", name, why);
  };
  constexpr std::string_view kMagic = "\x93NUMPY";
  if (bytes.size() < 12 || std::string_view(bytes.data(), 6) != kMagic)
    return broken("it is no .npy data");
  const bool wide = bytes[6] > 1;
  const size_t start = wide ? 12 : 10;
  const size_t length = wide ? number_at<uint32_t>(bytes, 8) : number_at<uint16_t>(bytes, 8);
  if (length > bytes.size() - start) return broken("it is cut short");
  const std::string_view header(bytes.data() + start, length);
  if (header_value(header, "'fortran_order': ", ',') != "False")
    return broken("its order is Fortran's; write it with numpy.ascontiguousarray");
  std::string_view word = header_value(header, "'descr': '", '\'');
  if (word.starts_with('>')) return broken("its byte order is that of other machines");
  if (!word.empty()) word.remove_prefix(1);
  const auto* const row = std::ranges::find(kTypes, word, &TypeRow::word);
  if (row == std::end(kTypes))
    return broken(fmt::format("its type '{}' is not supported; convert it to float32", word));
  NumpyArray array{std::move(name), row->type};
  if (!parse_extents(header_value(header, "'shape': (", ')'), array.dims))
    return broken("it has more than 8 axes");
  const Bytes data = bytes.subspan(start + length);
  size_t count = row->bytes;
  for (int i = 0; i < array.dims.nbDims; ++i) {
    const auto extent = static_cast<size_t>(array.dims.d[i]);
    // Before the product could wrap around.
    if (extent != 0 && count > data.size() / extent) return broken("it is cut short");
    count *= extent;
  }
  array.bytes = row->convert(data.first(count));
  return array;
}

/// The files of a zip archive by its central directory, which has their sizes in any case.
Result<std::vector<NumpyArray>> parse_archive(Bytes bytes, const std::string& path) {
  const auto broken = [&] { return user_error("'{}' is no .npz file, or damaged", path); };
  constexpr size_t kEndSize = 22, kEntrySize = 46, kLocalSize = 30;
  constexpr std::string_view kEnd = "PK\x05\x06", kEntry = "PK\x01\x02";
  const std::string_view text(bytes.data(), bytes.size());
  const size_t end = text.rfind(kEnd);
  if (end == std::string_view::npos || bytes.size() - end < kEndSize) return broken();
  const size_t entries = number_at<uint16_t>(bytes, end + 10);
  size_t place = number_at<uint32_t>(bytes, end + 16);
  std::vector<NumpyArray> arrays;
  for (size_t i = 0; i < entries; ++i) {
    if (place > bytes.size() || bytes.size() - place < kEntrySize ||
        text.substr(place, 4) != kEntry)
      return broken();
    const size_t method = number_at<uint16_t>(bytes, place + 10);
    const size_t size = number_at<uint32_t>(bytes, place + 20);
    const size_t name_size = number_at<uint16_t>(bytes, place + 28);
    const size_t others =
        number_at<uint16_t>(bytes, place + 30) + number_at<uint16_t>(bytes, place + 32);
    const size_t local = number_at<uint32_t>(bytes, place + 42);
    if (bytes.size() - place - kEntrySize < name_size) return broken();
    std::string_view name = text.substr(place + kEntrySize, name_size);
    if (name.ends_with(".npy")) name.remove_suffix(4);
    if (method != 0)
      return unsupported("'{}' is compressed: write it with numpy.savez, not savez_compressed",
                         path);
    if (local > bytes.size() || bytes.size() - local < kLocalSize) return broken();
    const size_t begin = local + kLocalSize + number_at<uint16_t>(bytes, local + 26) +
                         number_at<uint16_t>(bytes, local + 28);
    if (begin > bytes.size() || bytes.size() - begin < size)
      return size == UINT32_MAX
                 ? unsupported("'{}' holds an array of 4 GiB or more: give fewer samples", path)
                 : broken();
    TENON_ASSIGN(NumpyArray array, parse_array(std::string(name), bytes.subspan(begin, size)));
    arrays.push_back(std::move(array));
    place += kEntrySize + name_size + others;
  }
  return arrays;
}

}  // namespace

Result<std::vector<NumpyArray>> read_arrays(const std::string& path) {
  TENON_ASSIGN(const std::vector<char> bytes, read_file(path));
  if (std::string_view(bytes.data(), bytes.size()).starts_with("PK"))
    return parse_archive(bytes, path);
  auto array = parse_array("", bytes);
  if (!array.ok()) return std::move(array).error().with_context(path);
  return std::vector<NumpyArray>{std::move(array).value()};
}

}  // namespace tenon::tools
