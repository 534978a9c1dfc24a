#include "select/gone_nodes.h"

#include <fmt/format.h>

#include <algorithm>

namespace tenon {
namespace {

constexpr std::string_view kConstant = "constant", kRemoved = "removed", kNoPass = "-";

std::string escaped_name(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c == '\n')
      text += "\\n";
    else if (c == '\\')
      text += "\\\\";
    else
      text += c;
  }
  return text;
}

std::string plain_name(std::string_view text) {
  std::string name;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool escape = text[i] == '\\' && i + 1 < text.size();
    if (escape) ++i;
    name += escape && text[i] == 'n' ? '\n' : text[i];
  }
  return name;
}

/// Cuts the text up to `end` off.
std::string_view cut(std::string_view& text, char end) {
  const std::string_view part = text.substr(0, text.find(end));
  text.remove_prefix(std::min(text.size(), part.size() + 1));
  return part;
}

}  // namespace

std::string gone_text(std::span<const GoneNode> nodes) {
  std::string text;
  for (const GoneNode& node : nodes)
    text += fmt::format("{} {} {}\n", node.is_constant ? kConstant : kRemoved,
                        node.pass.empty() ? kNoPass : node.pass, escaped_name(node.name));
  return text;
}

std::vector<GoneNode> parse_gone(std::string_view text) {
  std::vector<GoneNode> nodes;
  while (!text.empty()) {
    std::string_view line = cut(text, '\n');
    const std::string_view kind = cut(line, ' '), pass = cut(line, ' ');
    if ((kind != kConstant && kind != kRemoved) || pass.empty()) continue;
    nodes.push_back({plain_name(line), pass == kNoPass ? "" : pass, kind == kConstant});
  }
  return nodes;
}

}  // namespace tenon
