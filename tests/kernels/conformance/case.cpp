#include "case.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ir/text.h"
#include "ops/ops.h"
#include "ops/region.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon::conformance {
namespace {

constexpr Case kCases[] = {
#define CONFORMANCE_CASE(name, inputs, body, outputs) {#name, inputs, body, outputs},
#include "cases.def"
};
constexpr Case kReferenceCases[] = {
#define CONFORMANCE_CASE(name, inputs, body, outputs) {#name, inputs, body, outputs},
#include "reference_cases.def"
};

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  std::string part;
  for (const char c : text) {
    if (c != separator) {
      part += c;
      continue;
    }
    parts.push_back(part);
    part.clear();
  }
  parts.push_back(part);
  for (std::string& one : parts) {
    one.erase(0, one.find_first_not_of(' '));
    one.erase(one.find_last_not_of(' ') + 1);
  }
  return parts;
}

std::vector<double> numbers(const std::string& text) {
  std::vector<double> values;
  for (const std::string& part : split(text, ','))
    if (!part.empty()) values.push_back(std::stod(part));
  return values;
}

void fill(Tensor& tensor, const std::string& rule, std::mt19937& random) {
  const bool real = tensor.type() == DataType::kFloat32 || tensor.type() == DataType::kBFloat16;
  if (rule.starts_with("=(")) {
    const std::vector<double> values = numbers(rule.substr(2, rule.size() - 3));
    for (int64_t i = 0; i < tensor.count(); ++i)
      tensor.set_from_double(i, values[static_cast<size_t>(i) % values.size()]);
    return;
  }
  const double low = rule.starts_with(">") ? 0.1 : real ? -1.5 : 0;
  const double high = rule.starts_with("<") ? std::stod(rule.substr(1)) - (real ? 0 : 1)
                      : real                ? 1.5
                                            : 1;
  std::uniform_real_distribution<double> uniform(low, high);
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_double(i, real ? uniform(random) : std::round(uniform(random)));
}

/// Variants of a case's operands: f32 is bf16, and extents of one size are 0.
struct Change {
  bool bf16 = false;
  std::optional<int64_t> emptied = {};
};

Sample sample(std::string text, const Change& change, std::mt19937& random) {
  Sample result;
  if (text == "_") return {.present = false};
  if (text.starts_with("const ")) {
    result.constant = true;
    text = text.substr(6);
  }
  if (text.starts_with("rows ")) {
    result.uniform_rows = true;
    text = text.substr(5);
  }
  const size_t open = text.find('['), close = text.find(']');
  DataType type = *data_type_by_name(text.substr(0, open));
  if (change.bf16 && type == DataType::kFloat32) type = DataType::kBFloat16;
  Extents extents;
  for (const double extent : numbers(text.substr(open + 1, close - open - 1)))
    extents.push_back(extent == change.emptied ? 0 : static_cast<int64_t>(extent));
  result.tensor = Tensor(type, extents);
  const std::string rule = text.substr(close + 1);
  if (rule.starts_with("=")) result.constant = true;
  fill(result.tensor, rule, random);
  return result;
}

/// "conv(%0,%1){...}; relu(%100)" as lines of the IR's text.
std::string lines_of(const Case& test) {
  std::string text;
  const std::vector<std::string> nodes = split(test.body, ';');
  for (size_t i = 0; i < nodes.size(); ++i) {
    const int outputs = i + 1 == nodes.size() ? test.outputs : 1;
    std::string names, types;
    for (int j = 0; j < outputs; ++j) {
      names += fmt::format("{}%{}", j ? "," : "", 100 + static_cast<int>(i) + j);
      types += j ? ",f32[]" : "f32[]";
    }
    text += fmt::format("{} = {} : {} ", names, nodes[i], types);
    if (i + 1 == nodes.size()) text += fmt::format("return {}", names);
  }
  return text;
}

std::string symbol_of(int64_t extent) {
  return fmt::format("n{}", extent);
}

/// "[2,n9]" where extents of 9 are open and contents are not known.
std::string shape_text(const Sample& sample, const std::set<int64_t>& open) {
  std::vector<std::string> parts;
  for (const int64_t extent : sample.tensor.extents())
    parts.push_back(!sample.constant && open.contains(extent) ? symbol_of(extent)
                                                              : std::to_string(extent));
  return fmt::format("[{}]", fmt::join(parts, ","));
}

/// The nodes over operands that are inputs of the graph or, where contents are known, constants.
Result<std::unique_ptr<Graph>> graph_of(const Case& test, const Change& change,
                                        const std::set<int64_t>& open,
                                        std::vector<Sample>& samples) {
  std::mt19937 random(static_cast<unsigned>(test.name.size() * 131 + test.name[0]));
  std::string parameters, body = lines_of(test);
  for (const std::string& text : split(test.inputs, ';')) {
    samples.push_back(sample(text, change, random));
    const Sample& last = samples.back();
    const std::string name = fmt::format("%{}", samples.size() - 1);
    const std::string type =
        fmt::format("{}{}", name_of(last.tensor.type()), shape_text(last, open));
    if (last.present)
      parameters += fmt::format("{}{} \"{}\": {}", parameters.empty() ? "" : ", ", name,
                                samples.size() - 1, type);
  }
  TENON_ASSIGN(auto graph, parse_graph(fmt::format("graph \"\" ({}) {{{}}}", parameters, body)));
  const std::vector<Value*> inputs(graph->inputs().begin(), graph->inputs().end());
  for (Value* input : inputs) {
    const Sample& known = samples[static_cast<size_t>(std::stoi(input->name))];
    if (known.constant) graph->replace_uses(input, graph->add_constant(known.tensor));
  }
  TENON_TRY(infer_graph(*graph));
  return graph;
}

Result<Built> build_changed(const Case& test, const Change& change) {
  Built built;
  std::vector<Sample> samples;
  TENON_ASSIGN(built.graph, graph_of(test, change, {}, samples));
  std::vector<Node*> nodes;
  for (const auto& node : built.graph->nodes())
    if (!node->is<Constant>()) nodes.push_back(node.get());
  built.node = nodes.size() == 1 ? nodes[0] : make_region(*built.graph, nodes);
  for (const Value* value : built.node->inputs()) {
    if (value == nullptr) {
      built.inputs.push_back({.present = false});
    } else if (value->constant() != nullptr) {
      built.inputs.push_back({.constant = true, .tensor = *value->constant()});
    } else {
      built.inputs.push_back(samples[static_cast<size_t>(std::stoi(value->name))]);
    }
  }
  return built;
}

}  // namespace

std::span<const Case> all_cases() {
  return kCases;
}

std::span<const Case> reference_cases() {
  return kReferenceCases;
}

Built build(const Case& test, bool bf16) {
  auto built = build_changed(test, {.bf16 = bf16});
  EXPECT_TRUE(built.ok()) << test.name << ": " << (built.ok() ? "" : built.error().message);
  return built.ok() ? std::move(*built) : Built{};
}

Built build_without_elements(const Case& test, int64_t extent) {
  auto built = build_changed(test, {.emptied = extent});
  return built.ok() ? std::move(*built) : Built{};
}

std::vector<OpenShape> open_shapes(const Case& test, const std::set<int64_t>& open) {
  std::vector<Sample> samples;
  const auto graph = graph_of(test, {}, open, samples);
  if (!graph.ok()) return {};
  SymbolValues values;
  for (const int64_t extent : open) values[symbol_of(extent)] = extent;
  std::vector<OpenShape> shapes;
  for (const Value* output : (*graph)->outputs()) {
    OpenShape& shape = shapes.emplace_back();
    for (const Dim& dim : output->type.shape) shape.push_back(dim.evaluate(values));
  }
  return shapes;
}

std::set<int64_t> extents_of(const Case& test) {
  std::set<int64_t> extents;
  std::mt19937 random;
  for (const std::string& text : split(test.inputs, ';')) {
    const Sample known = sample(text, {}, random);
    extents.insert(known.tensor.extents().begin(), known.tensor.extents().end());
  }
  return extents;
}

}  // namespace tenon::conformance
