#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace tenon {

/// "1 layer", "3 layers".
template <class Count> std::string counted(Count count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

}  // namespace tenon
