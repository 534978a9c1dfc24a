#include "tools/file_names.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/printable.h"

namespace tenon::tools {

const std::string& FileNames::stem(const std::string& tensor) {
  // File systems take 255 bytes, endings and numbers included.
  constexpr size_t kLongest = 160;
  const auto [entry, is_new] = stems_.try_emplace(tensor);
  if (!is_new) return entry->second;
  std::string name(clipped(printable_name(tensor), kLongest));
  std::ranges::replace(name, '/', '_');
  std::string stem = name;
  for (int number = 2; !taken_.insert(stem).second; ++number)
    stem = fmt::format("{}_{}", name, number);
  return entry->second = std::move(stem);
}

}  // namespace tenon::tools
