#include "plan/shape_values.h"

#include <algorithm>

#include "ops/dims.h"
#include "ops/shape_input.h"

namespace tenon {
namespace {

Status check_profile(const Value& input, const Profile& profile, size_t index) {
  const auto found = profile.find(input.name);
  if (found == profile.end() || !found->second.has_values())
    return user_error("profile {} has no values for input '{}', and other profiles have", index,
                      input.name);
  if (!can_decide_shapes(input.type))
    return user_error(
        "profile {} has values for input '{}', which is {}{}: only inputs of 1 to {} integers "
        "(INT32 or INT64), whose number is fixed, can have values in profiles",
        index, input.name, name_of(input.type.type), to_string(input.type.shape),
        kMaxKnownElements);
  const ShapeRange& range = found->second;
  const auto count = static_cast<size_t>(element_count(constants(input.type.shape)));
  for (const auto* values : {&range.min_values, &range.opt_values, &range.max_values})
    if (values->size() != count)
      return user_error("profile {}: input '{}' has {} elements, {} values are given", index,
                        input.name, count, values->size());
  for (size_t i = 0; i < count; ++i)
    if (range.min_values[i] > range.opt_values[i] || range.opt_values[i] > range.max_values[i])
      return user_error(
          "profile {}: input '{}' needs min <= opt <= max in value {}, not {}, {}, {}", index,
          input.name, i, range.min_values[i], range.opt_values[i], range.max_values[i]);
  return {};
}

bool has_values(const Value& input, const std::vector<Profile>& profiles) {
  return std::ranges::any_of(profiles, [&](const Profile& profile) {
    const auto found = profile.find(input.name);
    return found != profile.end() && found->second.has_values();
  });
}

Range range_over(const std::vector<Profile>& profiles, const std::string& input, size_t element) {
  Range range{INT64_MAX, INT64_MIN};
  for (const Profile& profile : profiles) {
    const ShapeRange& values = profile.at(input);
    range.min = std::min(range.min, values.min_values[element]);
    range.max = std::max(range.max, values.max_values[element]);
  }
  return range;
}

}  // namespace

Status name_shape_values(Graph& graph, const std::vector<Profile>& profiles) {
  for (Value* input : graph.inputs()) {
    if (!has_values(*input, profiles)) continue;
    for (size_t i = 0; i < profiles.size(); ++i) TENON_TRY(check_profile(*input, profiles[i], i));
    std::vector<Dim> elements;
    const size_t count = profiles[0].at(input->name).min_values.size();
    for (size_t i = 0; i < count; ++i) {
      const Range range = range_over(profiles, input->name, i);
      const std::string symbol = fmt::format("{}[{}]", input->name, i);
      elements.push_back(range.min == range.max ? Dim(range.min) : Dim::symbol(symbol));
      if (range.min != range.max) graph.symbol_ranges[symbol] = range;
    }
    input->elements = std::move(elements);
  }
  return {};
}

void replace_shape_inputs(Graph& graph) {
  bool replaced = false;
  const std::vector<Value*> inputs = graph.inputs();
  for (Value* input : inputs) {
    if (!is_shape_input(*input) || (input->uses().empty() && !graph.is_output(input))) continue;
    auto dims = std::make_unique<Dims>();
    for (const Dim& element : *input->elements) dims->expressions.push_back(element.to_string());
    dims->extents = constants(input->type.shape);
    dims->to = input->type.type;
    Node* node = graph.add_node(std::move(dims), {}, 1, input->name);
    graph.replace_uses(input, node->output());
    node->output()->type = {input->type.type, input->type.shape};
    node->output()->elements = input->elements;
    replaced = true;
  }
  // Nodes without operands cannot be part of a cycle.
  if (replaced) (void)graph.sort().ok();
}

Status bind_shape_values(const Value& input, const std::vector<int64_t>& numbers,
                         SymbolValues& symbols) {
  const std::vector<Dim>& elements = *input.elements;
  if (numbers.size() != elements.size())
    return user_error("input '{}' has {} elements, {} values are given", input.name,
                      elements.size(), numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (const auto symbol = elements[i].as_symbol())
      symbols.insert_or_assign(*symbol, numbers[i]);
    else if (elements[i].is_constant() && elements[i].constant() != numbers[i])
      return user_error("input '{}': value {} is {} in all profiles, not {}", input.name, i,
                        elements[i].constant(), numbers[i]);
  }
  return {};
}

Status check_shape_values(const std::string& input, const std::vector<int64_t>& numbers,
                          const ShapeRange& range) {
  for (size_t i = 0; i < numbers.size() && i < range.min_values.size(); ++i)
    if (numbers[i] < range.min_values[i] || numbers[i] > range.max_values[i])
      return user_error(
          "input '{}': value {} is {}, outside the profile's range {} to {}; build a plan whose "
          "profile covers it",
          input, i, numbers[i], range.min_values[i], range.max_values[i]);
  return {};
}

Tensor usual_contents(const Value& input, const ShapeRange& range) {
  Tensor tensor(input.type.type, constants(input.type.shape));
  for (size_t i = 0; i < range.opt_values.size(); ++i)
    tensor.set_from_int64(static_cast<int64_t>(i), range.opt_values[i]);
  return tensor;
}

ShapeValues usual_values(const Graph& graph, const Profile& profile) {
  ShapeValues values;
  for (const Value* input : graph.inputs())
    if (const auto found = profile.find(input->name); found != profile.end())
      if (is_shape_input(*input)) values[input->name] = found->second.opt_values;
  return values;
}

}  // namespace tenon
