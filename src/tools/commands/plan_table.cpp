#include "tools/commands/plan_table.h"

#include <algorithm>
#include <memory>
#include <sstream>
#include <utility>
#include <vector>

#include "NvInfer.h"
#include "base/counted.h"
#include "tenon/inspect.h"
#include "tools/api_logger.h"
#include "tools/page.h"

namespace tenon::tools {
namespace {

Result<Json> parsed(const nvinfer1::IHostMemory* text, std::string_view kind) {
  if (text == nullptr) return user_error("the {} could not be read", kind);
  const auto* begin = static_cast<const char*>(text->data());
  Json json = Json::parse(begin, begin + text->size(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return internal_error("the description of the {} is no JSON", kind);
  return json;
}

std::string profile_text(const Json& input) {
  std::string text;
  const auto extents = [](const Json& shape) {
    return fmt::format("{}", fmt::join(shape.get<std::vector<int64_t>>(), "x"));
  };
  if (!input.contains("profiles")) return text;
  for (const Json& profile : input["profiles"]) {
    if (profile["min"] == profile["max"]) continue;
    text += fmt::format("{}{} to {}, tuned for {}", text.empty() ? "" : "; ",
                        extents(profile["min"]), extents(profile["max"]), extents(profile["opt"]));
  }
  return text;
}

}  // namespace

Result<Json> plan_json(Session& session, std::span<const char> plan) {
  ApiLogger logger(session.console());
  const std::unique_ptr<nvinfer1::IHostMemory> text(describePlan(plan.data(), plan.size(), logger));
  return parsed(text.get(), "plan");
}

Result<Json> model_json(Session& session, const std::string& file) {
  ApiLogger logger(session.console());
  const std::unique_ptr<nvinfer1::IHostMemory> text(describeModel(file.c_str(), logger));
  return parsed(text.get(), "model");
}

void show_borders(Session& session, const Json& json) {
  Table table("lllll");
  for (const auto& [kind, title] : {std::pair("inputs", "input"), std::pair("outputs", "output")}) {
    if (!json.contains(kind)) continue;
    for (const Json& tensor : json[kind])
      table.add({title, tensor["name"], tensor["type"], tensor["shape"], profile_text(tensor)});
  }
  session.line("{}", table.text());
}

void show_weights(Session& session, const Json& json) {
  Table table("lrrr");
  for (const auto& [type, weights] : json["weights"].items())
    table.add({type, counted(weights["tensors"].get<int64_t>(), "tensor"),
               count_text(weights["elements"].get<double>()) + " values",
               bytes_text(weights["bytes"].get<double>())});
  if (!table.empty()) session.line("{}", table.text());
}

std::string counts_text(std::string_view title, const Json& counts) {
  std::vector<std::pair<int64_t, std::string>> sorted;
  for (const auto& [name, count] : counts.items()) sorted.emplace_back(-count.get<int64_t>(), name);
  std::ranges::sort(sorted);
  std::string text;
  for (const auto& [count, name] : sorted)
    text +=
        fmt::format("{}{} {}", text.empty() ? "" : ", ", name.empty() ? "(view)" : name, -count);
  return wrapped(fmt::format("  {}", title), text, 14);
}

void show_precisions(Session& session, const Json& json) {
  session.line("{}", counts_text("precisions", json["precisions"]));
  const Json& settings = json["settings"];
  if (!settings.contains("precision_summary")) return;
  constexpr size_t kMost = 24;
  std::vector<std::string> lines;
  std::istringstream summary(settings["precision_summary"].get<std::string>());
  for (std::string line; std::getline(summary, line);) lines.push_back(line);
  for (size_t i = 0; i < std::min(lines.size(), kMost); ++i)
    session.line("{}", wrapped("             ", lines[i], 14));
  if (lines.size() > kMost)
    session.line("              and {} more lines; `tenon exec` prints all", lines.size() - kMost);
}

Result<Json> show_plan(Session& session, std::span<const char> plan) {
  TENON_ASSIGN(Json json, plan_json(session, plan));
  session.heading("Plan");
  show_borders(session, json);
  show_precisions(session, json);
  const Json& settings = json["settings"];
  if (settings.contains("self_check_cost"))
    session.line("{}", wrapped("  accuracy", settings["self_check_cost"].get<std::string>(), 14));
  return json;
}

}  // namespace tenon::tools
