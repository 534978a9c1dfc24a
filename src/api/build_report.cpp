#include "api/build_report.h"

#include <algorithm>
#include <map>

#include "api/layer_description.h"
#include "base/ascii.h"
#include "ops/ops.h"

namespace tenon::api {
namespace {

using Json = nlohmann::ordered_json;

Json dims_of(const Shape& shape) {
  Json dims = Json::array();
  for (const Dim& dim : shape)
    if (dim.is_constant())
      dims.push_back(dim.constant());
    else
      dims.push_back(dim.to_string());
  return dims;
}

/// A graph without its constants: nodes and the values between them, by number.
class NetworkText {
 public:
  explicit NetworkText(const Graph& graph) {
    Json inputs = Json::array(), outputs = Json::array(), nodes = Json::array();
    for (const Value* input : graph.inputs()) inputs.push_back(number(input));
    for (const auto& node : graph.nodes())
      if (!node->is<Constant>()) nodes.push_back(described(*node));
    for (const Value* output : graph.outputs()) outputs.push_back(number(output));
    json_ = {{"nodes", nodes}, {"values", values_}, {"inputs", inputs}, {"outputs", outputs}};
  }
  Json take() { return std::move(json_); }

 private:
  int number(const Value* value) {
    const auto [entry, is_new] = numbers_.try_emplace(value, static_cast<int>(values_.size()));
    if (is_new)
      values_.push_back({{"name", value->name},
                         {"type", precision_word(value->type.type)},
                         {"dims", dims_of(value->type.shape)}});
    return entry->second;
  }

  Json described(const Node& node) {
    Json in = Json::array(), out = Json::array();
    int weights = 0;
    for (const Value* input : node.inputs()) {
      if (input == nullptr) continue;
      if (input->constant() != nullptr)
        ++weights;
      else
        in.push_back(number(input));
    }
    for (const Value* output : node.outputs()) out.push_back(number(output));
    return {{"name", node.name}, {"op", node.op->name()},   {"in", in},
            {"out", out},        {"origins", node.origins}, {"weights", weights}};
  }

  Json values_ = Json::array(), json_;
  std::map<const Value*, int> numbers_;
};

Json spans_of(const BuildRecord& record) {
  Json spans = Json::array();
  for (const BuildRecord::Span& span : record.spans)
    spans.push_back({{"group", span.group},
                     {"name", span.name},
                     {"start", span.start},
                     {"seconds", span.seconds},
                     {"detail", span.detail}});
  return spans;
}

Json lists_of(const BuildRecord& record) {
  Json lists = Json::array();
  for (const auto& candidates : record.lists) {
    Json list = Json::array();
    for (const BuildRecord::Candidate& candidate : candidates) {
      Json row = {{"tactic", candidate.tactic}};
      if (candidate.milliseconds >= 0) row["ms"] = candidate.milliseconds;
      if (!candidate.reason.empty()) row["reason"] = candidate.reason;
      list.push_back(std::move(row));
    }
    lists.push_back(std::move(list));
  }
  return lists;
}

Json choices_of(const BuildRecord& record) {
  Json choices = Json::array();
  for (const BuildRecord::Choice& choice : record.choices)
    choices.push_back({{"layer", choice.layer}, {"tactic", choice.tactic}, {"list", choice.list}});
  return choices;
}

Json apart_of(const BuildRecord& record) {
  Json rows = Json::array();
  for (const BuildRecord::Apart& apart : record.apart)
    rows.push_back({{"producer", apart.producer},
                    {"consumer", apart.consumer},
                    {"pass", apart.pass},
                    {"reason", apart.reason}});
  return rows;
}

Json accuracy_of(const BuildRecord& record) {
  Json rows = Json::array();
  for (const BuildRecord::Accuracy& layer : record.accuracy) {
    Json row = {{"layer", layer.layer}, {"value", layer.value}, {"state", layer.state}};
    if (layer.distance >= 0) row["distance"] = layer.distance;
    if (layer.limit >= 0) row["limit"] = layer.limit;
    if (layer.accumulated >= 0) row["accumulated"] = layer.accumulated;
    if (!layer.detail.empty()) row["detail"] = layer.detail;
    rows.push_back(std::move(row));
  }
  return rows;
}

Json outputs_of(const BuildRecord& record) {
  Json rows = Json::array();
  for (const BuildRecord::Output& output : record.outputs)
    rows.push_back({{"name", output.name}, {"distance", output.distance}, {"limit", output.limit}});
  return rows;
}

}  // namespace

std::string precision_word(DataType type) {
  static const std::map<std::string, std::string, std::less<>> kWords = {
      {"f32", "FP32"}, {"f16", "FP16"},  {"bf16", "BF16"}, {"f64", "FP64"}, {"i8", "INT8"},
      {"u8", "UINT8"}, {"i32", "INT32"}, {"i64", "INT64"}, {"bool", "BOOL"}};
  const auto found = kWords.find(name_of(type));
  if (found != kWords.end()) return found->second;
  std::string word(name_of(type));
  std::ranges::transform(word, word.begin(), to_upper);
  return word;
}

std::map<std::string, std::string> short_settings(const Plan& plan) {
  constexpr size_t kLongest = 1000;
  std::map<std::string, std::string> settings;
  for (const auto& [name, text] : plan.settings)
    if (text.size() <= kLongest) settings[name] = text;
  return settings;
}

void BuildReport::begin(const Graph& network) {
  network_ = NetworkText(network).take();
  record_ = std::make_unique<BuildRecord>();
  text_.clear();
}

void BuildReport::finish(const Plan& plan) {
  const Json json = {{"network", std::move(network_)},   {"passes", plan.passes},
                     {"settings", short_settings(plan)}, {"spans", spans_of(*record_)},
                     {"choices", choices_of(*record_)},  {"lists", lists_of(*record_)},
                     {"apart", apart_of(*record_)},      {"accuracy", accuracy_of(*record_)},
                     {"outputs", outputs_of(*record_)}};
  text_ = json_text(json);
}

}  // namespace tenon::api
