#include <fmt/format.h>

#include <unordered_map>

#include "base/ascii.h"
#include "ir/attribute_text.h"
#include "ir/dim_expression.h"
#include "ir/text.h"

namespace tenon {
namespace {

using Numbers = std::unordered_map<const Value*, int>;

Numbers number_values(const Graph& graph) {
  Numbers numbers;
  for (const Value* input : graph.inputs())
    numbers.emplace(input, static_cast<int>(numbers.size()));
  for (const auto& node : graph.nodes())
    for (const Value* output : node->outputs())
      numbers.emplace(output, static_cast<int>(numbers.size()));
  return numbers;
}

std::string type_text(const Value& value) {
  std::string text = fmt::format("{}{}", name_of(value.type.type), to_string(value.type.shape));
  if (value.type.layout == Layout::kChannelsLast) text += "@nhwc";
  if (!value.elements || value.constant() != nullptr) return text;
  text += "=(";
  for (size_t i = 0; i < value.elements->size(); ++i) {
    if (i > 0) text += ',';
    text += (*value.elements)[i].to_string();
  }
  return text + ")";
}

std::string reference(const Numbers& numbers, const Value* value) {
  if (value == nullptr) return "_";
  const auto found = numbers.find(value);
  return found == numbers.end() ? "%?" : fmt::format("%{}", found->second);
}

std::string definition(const Numbers& numbers, const Value* value) {
  const std::string text = reference(numbers, value);
  return value->name.empty() ? text : fmt::format("{} {}", text, quote(value->name));
}

/// f applied to each, with commas between.
template <class List, class F> std::string joined(const List& list, F f) {
  std::string text;
  bool first = true;
  for (const auto& item : list) {
    if (!first) text += ", ";
    text += f(item);
    first = false;
  }
  return text;
}

std::string attributes_text(const Op& op) {
  const auto texts = attribute_texts(op);
  const auto defaults = attribute_texts(*op.make_default());
  std::string text;
  for (size_t i = 0; i < texts.size(); ++i) {
    if (texts[i] == defaults[i]) continue;
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", texts[i].first, texts[i].second);
  }
  return text.empty() ? text : fmt::format(" {{{}}}", text);
}

/// "name{config}" of plain characters stands as it is, everything else in quotes.
std::string tactic_text(const std::string& tactic) {
  const size_t brace = tactic.find('{');
  const std::string_view name = std::string_view(tactic).substr(0, brace);
  bool plain = !name.empty() && name != "nhwc";
  for (const char c : name)
    plain = plain && (is_letter_or_digit(c) || c == '.' || c == '_' || c == '-');
  if (brace != std::string::npos) {
    plain = plain && tactic.find('}') == tactic.size() - 1;
    for (const char c : tactic) plain = plain && c >= ' ' && c < 0x7F && c != '"';
    plain = plain && tactic.find('{', brace + 1) == std::string::npos;
  }
  return plain ? tactic : quote(tactic);
}

void print_graph(const Graph& graph, int indent, std::string& out);

void print_node(const Node& node, const Numbers& numbers, int indent, std::string& out) {
  if (!node.outputs().empty())
    out += joined(node.outputs(), [&](const Value* v) { return definition(numbers, v); }) + " = ";
  out += node.op->name();
  if (!node.name.empty()) out += fmt::format(" {}", quote(node.name));
  out += fmt::format("({})",
                     joined(node.inputs(), [&](const Value* v) { return reference(numbers, v); }));
  out += attributes_text(*node.op);
  for (const auto& body : node.bodies) {
    out += ' ';
    print_graph(*body, indent, out);
  }
  if (!node.outputs().empty())
    out += fmt::format(" : {}", joined(node.outputs(), [](auto* v) { return type_text(*v); }));
  if (!node.origins.empty()) out += fmt::format(" from [{}]", joined(node.origins, quote));
  if (!node.tactic.empty()) out += fmt::format(" @{}", tactic_text(node.tactic));
}

std::string range_text(const std::pair<const std::string, Range>& entry) {
  const auto& [symbol, range] = entry;
  const std::string max = range.max == INT64_MAX ? "inf" : std::to_string(range.max);
  return fmt::format("{} in [{},{}]", symbol_text(symbol), range.min, max);
}

void print_graph(const Graph& graph, int indent, std::string& out) {
  const Numbers numbers = number_values(graph);
  const std::string margin(indent + 2, ' ');
  out += fmt::format("graph {} (", quote(graph.name));
  out += joined(graph.inputs(), [&](const Value* input) {
    return fmt::format("{}: {}", definition(numbers, input), type_text(*input));
  });
  out += ")";
  if (!graph.symbol_ranges.empty())
    out += fmt::format(" where {}", joined(graph.symbol_ranges, range_text));
  out += " {\n";
  for (const auto& node : graph.nodes()) {
    out += margin;
    print_node(*node, numbers, indent + 2, out);
    out += '\n';
  }
  const std::string outputs =
      joined(graph.outputs(), [&](const Value* v) { return reference(numbers, v); });
  out +=
      fmt::format("{}return{}{}\n{:{}}}}", margin, outputs.empty() ? "" : " ", outputs, "", indent);
}

}  // namespace

std::string print(const Graph& graph) {
  std::string text;
  print_graph(graph, 0, text);
  return text + "\n";
}

std::string print(const Node& node) {
  std::string text;
  print_node(node, number_values(node.graph()), 0, text);
  return text;
}

}  // namespace tenon
