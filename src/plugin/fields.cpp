// Plugin fields as text: one line a field, "type length name-in-hex bytes-in-hex".
#include <charconv>
#include <sstream>

#include "plugin/instance.h"

namespace tenon::plugin {
namespace {

using nvinfer1::PluginFieldType;

/// Bytes an element of a field takes.
size_t field_bytes(PluginFieldType type) {
  switch (type) {
    case PluginFieldType::kFLOAT64:
    case PluginFieldType::kINT64: return 8;
    case PluginFieldType::kFLOAT32:
    case PluginFieldType::kINT32: return 4;
    case PluginFieldType::kFLOAT16:
    case PluginFieldType::kBF16:
    case PluginFieldType::kINT16: return 2;
    case PluginFieldType::kDIMS: return sizeof(nvinfer1::Dims);
    default: return 1;
  }
}

}  // namespace

std::string to_hex(std::string_view bytes) {
  std::string text;
  for (const char byte : bytes) text += fmt::format("{:02x}", static_cast<unsigned char>(byte));
  return text;
}

Result<std::string> from_hex(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    unsigned value = 0;
    const auto [end, error] = std::from_chars(&text[i], &text[i] + 2, value, 16);
    if (error != std::errc() || end != &text[i] + 2)
      return user_error("the plugin's fields are damaged");
    bytes.push_back(static_cast<char>(value));
  }
  return bytes;
}

std::string fields_to_text(const nvinfer1::PluginFieldCollection& fields) {
  std::string text;
  for (int32_t i = 0; i < fields.nbFields; ++i) {
    const nvinfer1::PluginField& field = fields.fields[i];
    const size_t bytes = field_bytes(field.type) * static_cast<size_t>(std::max(field.length, 0));
    const std::string_view data(static_cast<const char*>(field.data),
                                field.data == nullptr ? 0 : bytes);
    text += fmt::format("{} {} x{} x{}\n", static_cast<int>(field.type), field.length,
                        to_hex(field.name == nullptr ? "" : field.name), to_hex(data));
  }
  return text;
}

Result<StoredFields> StoredFields::read(const std::string& text) {
  StoredFields stored;
  std::istringstream lines(text);
  int type = 0;
  int32_t length = 0;
  std::string name, bytes;
  while (lines >> type >> length >> name >> bytes) {
    TENON_ASSIGN(std::string plain_name, from_hex(std::string_view(name).substr(1)));
    TENON_ASSIGN(std::string plain_bytes, from_hex(std::string_view(bytes).substr(1)));
    const auto kind = static_cast<PluginFieldType>(type);
    if (length < 0 || plain_bytes.size() != field_bytes(kind) * static_cast<size_t>(length))
      return user_error("the plugin's field '{}' is damaged", plain_name);
    stored.fields_.push_back({std::move(plain_name), kind, length, std::move(plain_bytes)});
  }
  return stored;
}

nvinfer1::PluginFieldCollection StoredFields::collection() const {
  views_.clear();
  for (const Field& field : fields_)
    views_.emplace_back(field.name.c_str(), field.bytes.data(), field.type, field.length);
  return {static_cast<int32_t>(views_.size()), views_.data()};
}

}  // namespace tenon::plugin
