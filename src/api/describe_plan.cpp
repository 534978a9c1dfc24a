#include <map>
#include <string>

#include "api/builder_config.h"
#include "api/host_memory.h"
#include "api/inspector.h"
#include "api/layer_description.h"
#include "api/plan_settings.h"
#include "device/device_family.h"
#include "network/report.h"
#include "ops/ops.h"
#include "plan/open_form.h"
#include "plan/packing.h"
#include "plan/plan_file.h"
#include "select/gone_nodes.h"
#include "tenon/inspect.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

using Json = nlohmann::ordered_json;

std::string shape_text(const Value& value) {
  return to_string(value.type.shape);
}

Json border(const Value& value) {
  return {{"name", value.name}, {"type", name_of(value.type.type)}, {"shape", shape_text(value)}};
}

Json input_json(const Value& input, const Plan& plan) {
  Json json = border(input);
  json["profiles"] = Json::array();
  for (const Profile& profile : plan.profiles) {
    const auto range = profile.find(input.name);
    if (range == profile.end()) continue;
    json["profiles"].push_back(
        {{"min", range->second.min}, {"opt", range->second.opt}, {"max", range->second.max}});
  }
  return json;
}

/// Sums over a plan's graph and the bodies in it.
struct Census {
  struct Weights {
    int64_t tensors = 0, elements = 0, bytes = 0;
  };
  std::map<std::string, int64_t> operators, kernels, precisions;
  std::map<std::string, Weights> weights;

  void add(const Tensor& tensor) {
    Weights& entry = weights[std::string(name_of(tensor.type()))];
    ++entry.tensors;
    entry.elements += tensor.count();
    entry.bytes += tensor.byte_count();
  }
  void add(const Graph& graph) {
    for (const auto& node : graph.nodes()) {
      if (const Value* value = node->is<Constant>() ? node->output() : nullptr)
        add(*value->constant());
      if (node->packed.defined()) add(node->packed);
      if (node->is<Constant>() || node->is<tenon::Dims>()) continue;
      ++operators[std::string(node->op->name())];
      ++kernels[node->tactic.substr(0, node->tactic.find('{'))];
      if (!node->outputs().empty()) ++precisions[std::string(name_of(node->output()->type.type))];
      if (!node->is<Fused>())
        for (const auto& body : node->bodies) add(*body);
    }
  }
};

Json layer_json(const Node& node) {
  Json json = {{"name", node.name},
               {"operator", node.op->name()},
               {"kernel", node.tactic},
               {"origins", node.origins}};
  for (const Value* output : node.outputs()) json["outputs"].push_back(border(*output));
  if (node.is<Fused>())
    for (const auto& member : node.bodies.front()->nodes())
      json["region"].push_back(std::string(member->op->name()));
  return json;
}

Json gone_json(std::string_view text) {
  Json json = Json::array();
  for (const GoneNode& node : parse_gone(text))
    json.push_back({{"name", node.name}, {"pass", node.pass}, {"constant", node.is_constant}});
  return json;
}

Json describe(const Plan& plan) {
  Census census;
  census.add(*plan.graph);
  Json json = {{"kind", "plan"}};
  json["device"] = {{"kind", plan.device == DeviceKind::kCpu ? "CPU" : "GPU"},
                    {"name", plan.device_name},
                    {"architecture", plan.architecture}};
  if (const auto family = parse_family(plan.architecture, 1))
    json["device"]["runs_on"] =
        fmt::format("GPUs of compute capability {} and later", capability_text(family->least));
  for (const Value* input : plan.graph->inputs())
    json["inputs"].push_back(input_json(*input, plan));
  for (const Value* output : plan.graph->outputs()) json["outputs"].push_back(border(*output));
  json["operators"] = census.operators;
  json["kernels"] = census.kernels;
  json["precisions"] = census.precisions;
  json["weights"] = Json::object();
  for (const auto& [type, weights] : census.weights)
    json["weights"][type] = {
        {"tensors", weights.tensors}, {"elements", weights.elements}, {"bytes", weights.bytes}};
  json["refittable"] = plan.network != nullptr;
  json["stripped"] = plan.stripped;
  json["settings"] = Json::object();
  for (const auto& [name, value] : plan.settings)
    if (name != kPackingSetting && name != api::kCandidatesSetting && name != kGoneSetting &&
        name != kJoinedSetting && name != kOpenJoinedSetting)
      json["settings"][name] = value;
  json["passes"] = plan.passes;
  for (const Node* node : api::layers_of(*plan.graph)) json["layers"].push_back(layer_json(*node));
  if (const auto gone = plan.settings.find(kGoneSetting); gone != plan.settings.end())
    json["gone"] = gone_json(gone->second);
  const auto candidates = plan.settings.find(api::kCandidatesSetting);
  if (candidates != plan.settings.end())
    json["candidates"] = Json::parse(candidates->second, nullptr, /*allow_exceptions=*/false);
  return json;
}

nvinfer1::IHostMemory* host_memory(const std::string& text) {
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  return new api::HostMemory({bytes, bytes + text.size()});
}

}  // namespace

TENON_EXPORT nvinfer1::IHostMemory* describePlan(const void* plan, size_t size,
                                                 nvinfer1::ILogger& logger) noexcept {
  network::Reporter reporter(&logger);
  return reporter.guarded("describePlan", nullptr, [&]() -> nvinfer1::IHostMemory* {
    const auto bytes = std::span(static_cast<const std::byte*>(plan), size);
    const auto version = peek_plan_version(bytes);
    const auto read = read_plan(bytes, std::shared_ptr<const void>(plan, [](const void*) {}));
    if (!read.ok()) {
      reporter.report(read.error());
      return nullptr;
    }
    Json json = describe(*read);
    json["version"] = version.ok() ? version->to_string() : "";
    json["bytes"] = size;
    return host_memory(api::json_text(json, 1));
  });
}

TENON_EXPORT bool recordCandidates(nvinfer1::IBuilderConfig& config, bool record) noexcept {
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (settings == nullptr) return false;
  settings->set_records_candidates(record);
  return true;
}

}  // namespace tenon
