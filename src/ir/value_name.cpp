#include "ir/value_name.h"

#include <fmt/format.h>

namespace tenon {

std::string quoted_name(const Value& value) {
  if (!value.name.empty()) return fmt::format("'{}'", value.name);
  if (value.producer() == nullptr) return fmt::format("input {}", value.index());
  const Node& node = *value.producer();
  const std::string owner =
      node.name.empty() ? std::string(node.op->name()) : fmt::format("'{}'", node.name);
  return fmt::format("output {} of {}", value.index(), owner);
}

}  // namespace tenon
