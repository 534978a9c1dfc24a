#include "plugin/missing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/ascii.h"
#include "plugin/registry.h"

namespace tenon::plugin {
namespace {

bool equal_but_for_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return to_upper(x) == to_upper(y); });
}

/// Registered creators that differ in version, namespace or case.
std::string near_misses(std::string_view name) {
  int32_t count = 0;
  IPluginCreatorInterface* const* all = registry().getAllCreators(&count);
  std::string text;
  for (int32_t i = 0; i < count; ++i) {
    if (!equal_but_for_case(name_of(*all[i]), name)) continue;
    text += fmt::format("{}'{}', version '{}', namespace '{}'", text.empty() ? "" : "; ",
                        name_of(*all[i]), version_of(*all[i]), space_of(*all[i]));
  }
  return text;
}

bool is_stock(std::string_view name) {
  constexpr std::string_view kNames[] = {
#define STOCK_PLUGIN(function, name, ...) name,
#include "plugin/stock.def"
  };
  return std::ranges::find(kNames, name) != std::end(kNames);
}

/// The way out for a plugin that TensorRT ships and we do not; empty for others.
std::string_view way_out(std::string_view name) {
  struct Absent {
    std::string_view name, way_out;
  };
  constexpr Absent kAbsent[] = {
#define ABSENT_PLUGIN(name, way_out) {name, way_out},
#include "plugin/absent.def"
  };
  const auto* found = std::ranges::find(kAbsent, name, &Absent::name);
  return found == std::end(kAbsent) ? std::string_view() : found->way_out;
}

}  // namespace

std::string missing_hint(const Identity& identity) {
  if (const std::string text = near_misses(identity.type); !text.empty())
    return fmt::format(" (registered are {})", text);
  if (const std::string_view way = way_out(identity.type); !way.empty())
    return fmt::format(
        " (TensorRT's plugin of that name is not there: {}, or load a library that "
        "has it)",
        way);
  if (is_stock(identity.type))
    return " (TensorRT's plugins are registered by initLibNvInferPlugins)";
  int32_t count = 0;
  registry().getAllCreators(&count);
  return count == 0 ? " (no plugin is registered at all)" : "";
}

}  // namespace tenon::plugin
