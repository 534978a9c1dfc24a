#include "device/described_device.h"

#include <charconv>
#include <optional>
#include <type_traits>

namespace tenon {
namespace {

/// Of GPUs whose description is of a version that did not say it: what all kernels took it for.
constexpr size_t kUntoldCache = size_t{50} << 20;
constexpr std::string_view kMayLack = "cache_bytes";

/// Calls visit(name, member) for all that a description holds.
template <class Properties, class Visit> void each_property(Properties& p, Visit visit) {
  visit("name", p.name);
  visit("architecture", p.architecture);
  visit("libraries", p.libraries);
  visit("compute_units", p.compute_units);
  visit("compute_capability", p.compute_capability);
  visit("memory_bytes", p.memory_bytes);
  visit("shared_memory_per_block", p.shared_memory_per_block);
  visit(kMayLack, p.cache_bytes);
  visit("native_bf16", p.native_bf16);
  visit("native_fp16", p.native_fp16);
}

std::string_view trimmed(std::string_view text) {
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(" \t\r") - first + 1);
}

bool read(std::string_view text, std::string& value) {
  value = text;
  return true;
}
bool read(std::string_view text, bool& value) {
  value = text == "1";
  return text == "0" || text == "1";
}
template <class Number> bool read(std::string_view text, Number& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size();
}

/// The value behind `name =`, or nothing.
std::optional<std::string_view> find(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos && trimmed(line.substr(0, equals)) == name)
      return trimmed(line.substr(equals + 1));
  }
  return std::nullopt;
}

}  // namespace

std::string description_of(const DeviceProperties& properties) {
  std::string text;
  each_property(properties, [&](std::string_view name, const auto& value) {
    if constexpr (std::is_same_v<decltype(value), const bool&>)
      text += fmt::format("{} = {}\n", name, value ? 1 : 0);
    else
      text += fmt::format("{} = {}\n", name, value);
  });
  return text;
}

Result<DeviceProperties> parse_description(std::string_view text) {
  DeviceProperties properties;
  properties.cache_bytes = kUntoldCache;
  Status status;
  each_property(properties, [&](std::string_view name, auto& member) {
    const auto value = find(text, name);
    if (!status.ok() || (name == kMayLack && !value.has_value())) return;
    if (!value.has_value())
      status = user_error("the device's description has no line '{} = ...'", name);
    else if (!read(*value, member))
      status = user_error("the device's description: '{}' is no value of {}", *value, name);
  });
  TENON_TRY(std::move(status));
  properties.kind = properties.compute_capability > 0 ? DeviceKind::kCuda : DeviceKind::kCpu;
  return properties;
}

}  // namespace tenon
