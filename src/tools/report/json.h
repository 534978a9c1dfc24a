#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "base/status.h"

namespace tenon::tools {

using Json = nlohmann::ordered_json;

/// A member of an object, or null where it is not there or of no object.
inline const Json& member(const Json& object, std::string_view key) {
  static const Json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}
inline std::string text_of(const Json& object, std::string_view key) {
  const Json& value = member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}
inline double number_of(const Json& object, std::string_view key, double otherwise = 0) {
  const Json& value = member(object, key);
  return value.is_number() ? value.get<double>() : otherwise;
}

/// The text as JSON; an error names `what`.
inline Result<Json> parse_json(std::string_view text, std::string_view what) {
  Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return user_error("{} is not JSON", what);
  return json;
}

/// Names may hold any bytes: those that are not UTF-8 are replaced.
inline std::string dumped(const Json& json, int indent = -1) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenon::tools
