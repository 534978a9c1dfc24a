#include "passes/pass.h"

#include <algorithm>

namespace tenon {
namespace {

constexpr PassInfo kTable[] = {
#define TENON_PASS(function, level, summary) {#function, level, summary, function},
#define TENON_PASS_WITH(function, level, flag, summary) \
  {#function, level, summary, function, &PassOptions::flag},
#include "passes/passes.def"
};

bool names(std::string_view pattern, const Node& node) {
  return matches_pattern(pattern, node.name) ||
         std::any_of(node.origins.begin(), node.origins.end(),
                     [&](const std::string& origin) { return matches_pattern(pattern, origin); });
}

}  // namespace

std::span<const PassInfo> pass_table() {
  return kTable;
}

const PassInfo* find_pass(std::string_view name) {
  for (const PassInfo& pass : kTable)
    if (pass.name == name) return &pass;
  return nullptr;
}

bool matches_pattern(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    for (size_t i = 0; i <= text.size(); ++i)
      if (matches_pattern(pattern.substr(1), text.substr(i))) return true;
    return false;
  }
  if (text.empty() || (pattern[0] != '?' && pattern[0] != text[0])) return false;
  return matches_pattern(pattern.substr(1), text.substr(1));
}

bool PassContext::allows(const Node& node) const {
  return std::none_of(options_.disabled.begin(), options_.disabled.end(),
                      [&](const std::string& entry) {
                        const size_t colon = entry.find(':');
                        return colon != std::string::npos && entry.substr(0, colon) == pass_ &&
                               names(std::string_view(entry).substr(colon + 1), node);
                      });
}

bool PassContext::allows_fusion(const Node& node) const {
  return allows(node) &&
         std::none_of(options_.no_fuse.begin(), options_.no_fuse.end(),
                      [&](const std::string& pattern) { return names(pattern, node); });
}

std::optional<DataType> PassContext::type_of(const Node& node) const {
  for (const auto& [pattern, type] : options_.types)
    if (names(pattern, node)) return type;
  return std::nullopt;
}

bool PassContext::applied(std::string_view what) {
  logger_.info("{}: {}", what, pass_);
  log_.push_back(fmt::format("{}: {}", pass_, what));
  return true;
}

}  // namespace tenon
