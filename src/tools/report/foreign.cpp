#include "tools/report/foreign.h"

#include <array>
#include <map>
#include <set>

#include "tools/report/document.h"

namespace tenon::tools {
namespace {

constexpr std::string_view kOnnxLayer = "[ONNX Layer: ";

/// Precisions in descriptions of formats, longer words first.
constexpr std::array<std::pair<std::string_view, std::string_view>, 20> kPrecisions = {
    {{"FP4", "FP4"},     {"BFloat16", "BF16"}, {"UINT8", "UINT8"}, {"UInt8", "UINT8"},
     {"INT64", "INT64"}, {"Int64", "INT64"},   {"INT4", "INT4"},   {"Int4", "INT4"},
     {"BF16", "BF16"},   {"FP32", "FP32"},     {"Float", "FP32"},  {"FP16", "FP16"},
     {"Half", "FP16"},   {"INT8", "INT8"},     {"Int8", "INT8"},   {"FP8", "FP8"},
     {"INT32", "INT32"}, {"Int32", "INT32"},   {"BOOL", "BOOL"},   {"Bool", "BOOL"}}};

std::string precision_in(std::string_view format) {
  for (const auto& [word, precision] : kPrecisions)
    if (format.find(word) != std::string_view::npos) return std::string(precision);
  return {};
}

/// Some versions tell a tensor's format and type as one text, others as two.
std::string precision_of(const Json& tensor) {
  for (const char* key : {"Format/Datatype", "Datatype", "DataType", "Format"})
    if (std::string found = precision_in(text_of(tensor, key)); !found.empty()) return found;
  return {};
}

std::vector<std::string> origins_in_metadata(std::string_view metadata) {
  std::vector<std::string> origins;
  for (size_t at = metadata.find(kOnnxLayer); at != std::string_view::npos;
       at = metadata.find(kOnnxLayer, at)) {
    at += kOnnxLayer.size();
    // Names may have brackets; control characters separate the entries.
    const std::string_view entry = metadata.substr(at, metadata.find_first_of("\x1e\x1f", at) - at);
    origins.emplace_back(entry.substr(0, entry.rfind(']')));
  }
  return origins;
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Takes "word(" and its ")" off.
bool unwrap(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word) || !text.ends_with(')')) return false;
  text = text.substr(word.size(), text.size() - word.size() - 1);
  return true;
}

/// The parts of a list, by a separator outside of all parentheses.
std::vector<std::string_view> parts_of(std::string_view text, std::string_view separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
    if (depth != 0 || text.substr(i, separator.size()) != separator) continue;
    parts.push_back(text.substr(start, i - start));
    start = i + separator.size();
  }
  parts.push_back(text.substr(start));
  return parts;
}

bool is_number(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == text.npos;
}

/// Without " [profile 1]", which layers of other profiles than the first one have.
std::string_view without_profile(std::string_view name) {
  constexpr std::string_view kProfile = " [profile ";
  const size_t at = name.rfind(kProfile);
  if (at == name.npos || !name.ends_with(']')) return name;
  const size_t number = at + kProfile.size();
  return is_number(name.substr(number, name.size() - 1 - number)) ? name.substr(0, at) : name;
}

/// Without "_myl0_12": the number of a piece of a compiled part of the graph.
std::string_view without_piece(std::string_view name) {
  constexpr std::string_view kPiece = "_myl";
  const size_t last = name.rfind('_');
  if (last == name.npos || !is_number(name.substr(last + 1))) return name;
  const size_t at = name.rfind(kPiece, last);
  if (at == name.npos || at == last) return name;
  const size_t number = at + kPiece.size();
  return is_number(name.substr(number, last - number)) ? name.substr(0, at) : name;
}

/// Copies, and kernels that a compiler of TensorRT's put together, name no node.
bool names_no_node(std::string_view name) {
  return name.starts_with("Reformatting CopyNode") || name.starts_with("__my");
}

void collect(std::string_view name, std::vector<std::string>& origins) {
  name = without_piece(trimmed(name));
  if (names_no_node(name)) return;
  std::vector<std::string_view> parts = parts_of(name, " + ");
  if (parts.size() == 1) parts = parts_of(name, " || ");  // Equal ones in one kernel.
  for (const std::string_view word : {"fusedPointwiseNode(", "PWN(", "fuse("})
    if (parts.size() == 1 && unwrap(name, word)) {
      for (const std::string_view part : parts_of(name, ",")) collect(part, origins);
      return;
    }
  if (parts.size() > 1)
    for (const std::string_view part : parts) collect(part, origins);
  else if (!name.empty())
    origins.emplace_back(name);
}

class Reader {
 public:
  Json layer(const Json& row) {
    if (row.is_string()) return named(row.get<std::string>());
    Json layer = named(text_of(row, "Name"));
    if (auto origins = origins_in_metadata(text_of(row, "Metadata")); !origins.empty())
      layer["origins"] = std::move(origins);
    layer["type"] = text_of(row, "LayerType");
    layer["kind"] = text_of(row, "LayerType");
    layer["tactic"] = text_of(row, "TacticName");
    layer["in"] = operands(member(row, "Inputs"));
    layer["out"] = operands(member(row, "Outputs"));
    const Json& inputs = member(row, "Inputs");
    const Json& first = inputs.empty() ? member(row, "Outputs") : inputs;
    if (!first.empty()) layer["precision"] = precision_of(first[0]);
    if (row.contains("StreamId")) layer["stream"] = row["StreamId"];
    return layer;
  }
  static Json named(const std::string& name) {
    return {{"name", name}, {"origins", origins_in_name(name)}, {"precision", ""}};
  }
  Json take_values() { return std::move(values_); }

 private:
  Json operands(const Json& tensors) {
    Json numbers = Json::array();
    for (const Json& tensor : tensors) {
      if (!tensor.is_object()) continue;
      const std::string name = text_of(tensor, "Name");
      const auto [entry, is_new] = numbers_.try_emplace(name, values_.size());
      if (is_new)
        values_.push_back({{"name", name},
                           {"type", precision_of(tensor)},
                           {"dims", member(tensor, "Dimensions")}});
      numbers.push_back(entry->second);
    }
    return numbers;
  }

  Json values_ = Json::array();
  std::map<std::string, size_t> numbers_;
};

}  // namespace

bool is_exported_profile(const Json& json) {
  return json.is_array() && !json.empty() &&
         (json[0].contains("count") || json[0].contains("averageMs"));
}

bool is_exported_layers(const Json& json) {
  return member(json, "Layers").is_array();
}

std::vector<std::string> origins_in_name(std::string_view name) {
  std::vector<std::string> origins;
  collect(without_profile(name), origins);
  return origins;
}

Json foreign_report(std::string_view title, const Json& profile, const Json& layers) {
  Reader reader;
  Json rows = Json::array();
  for (const Json& layer : member(layers, "Layers")) rows.push_back(reader.layer(layer));
  std::set<std::string> names;
  for (const Json& row : rows) names.insert(text_of(row, "name"));
  for (const Json& row : profile)
    if (row.contains("name") && names.insert(text_of(row, "name")).second)
      rows.push_back(Reader::named(text_of(row, "name")));
  // Older exporters write no medians.
  Json times = profile;
  for (Json& row : times)
    if (row.is_object() && !row.contains("medianMs") && row.contains("averageMs"))
      row["medianMs"] = row["averageMs"];
  ReportParts parts;
  parts.title = std::string(title);
  parts.run = {{"layers", std::move(rows)}, {"values", reader.take_values()}};
  parts.profile = std::move(times);
  return make_report(std::move(parts));
}

}  // namespace tenon::tools
