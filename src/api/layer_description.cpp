#include "api/layer_description.h"

#include <fmt/format.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

#include "api/layer_parameters.h"
#include "api/layer_words.h"
#include "base/printable.h"
#include "kernels/algorithm.h"

namespace tenon::api {
namespace {

using Json = nlohmann::ordered_json;

/// Values that passes made have no name of their own.
std::string name_of_value(const Value& value) {
  if (!value.name.empty() || value.producer() == nullptr) return value.name;
  const std::string& layer = value.producer()->name;
  return value.index() == 0 ? layer + "_output"
                            : fmt::format("{}_output ({})", layer, value.index());
}

Json dimensions_of(const Value& value, const ConcreteGraph* shapes) {
  if (shapes != nullptr && shapes->resolved(&value)) return shapes->extents(&value);
  Json dims = Json::array();
  for (const Dim& dim : value.type.shape) dims.push_back(dim.is_constant() ? dim.constant() : -1);
  return dims;
}

Json tensor_json(const Value& value, const LayerView& view) {
  return {{"Name", name_of_value(value)},
          {"Location", "Device"},
          {"Dimensions", dimensions_of(value, view.shapes)},
          {"Format/Datatype", format_description(value.type)}};
}

/// `{"Type": "Int8", "Count": 4096}`, `[1,1]`, or the value without quotes.
std::string value_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_object()) return json_text(value);
  std::string text;
  for (const auto& [key, member] : value.items())
    text += fmt::format("{}\"{}\": {}", text.empty() ? "" : ", ", key, json_text(member));
  return "{" + text + "}";
}

std::string members_text(const Json& object);

/// `[ { Name: x, ... }, { ... }]`.
std::string tensors_text(const Json& tensors) {
  std::string text;
  for (const Json& tensor : tensors)
    text += fmt::format("{}{{ {} }}", text.empty() ? " " : ", ", members_text(tensor));
  return "[" + text + "]";
}

std::string members_text(const Json& object) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    const bool of_tensors = value.is_array() && !value.empty() && value.front().is_object();
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", key,
                        of_tensors ? tensors_text(value) : value_text(value));
  }
  return text;
}

const std::string& tactic_of(const Node& node, const LayerView& view) {
  if (view.tactics == nullptr) return node.tactic;
  const auto found = view.tactics->find(&node);
  return found == view.tactics->end() ? node.tactic : found->second;
}

}  // namespace

Json describe_layer(const Node& node, const LayerView& view) {
  const Node& anchor = anchor_of(node);
  const LayerWords words = words_of(node, anchor);
  Json json;
  json["Name"] = node.name + view.suffix;
  json["LayerType"] = words.layer_type;
  json["Inputs"] = Json::array();
  for (const Value* input : node.inputs())
    if (input != nullptr && input->constant() == nullptr)
      json["Inputs"].push_back(tensor_json(*input, view));
  json["Outputs"] = Json::array();
  for (const Value* output : node.outputs()) json["Outputs"].push_back(tensor_json(*output, view));
  json["ParameterType"] = words.parameter_type;
  if (node.tactic != kViewTactic) add_parameters(json, node, anchor);
  const std::string& tactic = tactic_of(node, view);
  json["TacticName"] = tactic;
  json["TacticValue"] = fmt::format("0x{:016x}", XXH3_64bits(tactic.data(), tactic.size()));
  const Algorithm algorithm = algorithm_of(split_tactic(tactic).name);
  if (algorithm != Algorithm::kPlain) json["Algorithm"] = name_of(algorithm);
  json["StreamId"] = view.stream;
  json["Metadata"] = metadata_of(node, *view.metadata);
  return json;
}

std::string one_line(const Json& layer) {
  Json one = layer;
  // Members stand between commas; the log of an editable timing cache writes tactics so, too.
  if (one.is_object() && one.contains("TacticName")) {
    std::string tactic = one["TacticName"];
    std::ranges::replace(tactic, ',', ';');
    one["TacticName"] = tactic;
  }
  const std::string text = one.is_string() ? one.get<std::string>() : members_text(one);
  // Terminals obey no record separator, which stands between layers of the metadata.
  std::string line;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find('\x1e', start), text.size());
    line += printable(std::string_view(text).substr(start, end - start));
    if (end < text.size()) line += '\x1e';
    start = end + 1;
  }
  return line;
}

std::string json_text(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace tenon::api
