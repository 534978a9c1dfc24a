// `tenon inspect`.
#include "base/printable.h"
#include "tools/commands/command_line.h"
#include "tools/commands/engine_source.h"
#include "tools/commands/plan_steps.h"
#include "tools/commands/plan_table.h"
#include "tools/exports.h"
#include "tools/page.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon inspect resnet50.onnx", "inputs, outputs, operators, weights"},
    {"tenon inspect resnet50.plan", "device, layers, kernels; needs no GPU"},
    {"tenon inspect resnet50.plan --nodes", "every layer with its kernel"},
    {"tenon inspect resnet50.plan --json=plan.json", "all of it, for scripts"},
};

constexpr OwnFlag kFlags[] = {
    {"nodes", "", "list every node of a model, or every layer of a plan"},
    {"passes", "", "list what each optimization pass did to a plan"},
    {"steps", "", "print the steps that a plan runs, with their memory; loads it"},
    {"json", "FILE", "write all that is known as JSON"},
};

constexpr Usage kUsage = {
    .command = "inspect",
    .words = "MODEL|PLAN [flags]",
    .purpose = "Shows what is in an ONNX model or a plan, without importing or loading it.",
    .examples = kExamples,
    .flags = kFlags,
};

std::string text_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found == json.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

void show_model(Session& session, const Json& json) {
  std::string opsets;
  for (const auto& [domain, version] : json["opsets"].items())
    opsets += fmt::format("{}{} {}", opsets.empty() ? "" : ", ", domain, version.get<int64_t>());
  std::string producer = text_of(json, "producer");
  if (const std::string version = text_of(json, "producer_version"); !version.empty())
    producer += (producer.empty() ? "" : " ") + version;
  session.line("  ONNX model{}{}, IR version {}, opset {}", producer.empty() ? "" : " of ",
               producer, json["ir_version"].get<int64_t>(), opsets);
  session.heading("Inputs and outputs");
  show_borders(session, json);
  session.heading("Operators");
  session.line("{}", counts_text("", json["operators"]));
  session.heading("Weights");
  show_weights(session, json);
}

void show_plan_facts(Session& session, const Json& json) {
  const Json& device = json["device"];
  session.line("  plan of version {} for the {} {} ({}), {}", text_of(json, "version"),
               text_of(device, "kind"), text_of(device, "name"), text_of(device, "architecture"),
               bytes_text(json["bytes"].get<double>()));
  if (device.contains("runs_on")) session.line("  It runs on {}.", text_of(device, "runs_on"));
  session.heading("Inputs and outputs");
  show_borders(session, json);
  session.heading("Layers");
  session.line("{}", counts_text("operators", json["operators"]));
  show_precisions(session, json);
  session.line("{}", counts_text("kernels", json["kernels"]));
  session.heading("Weights");
  show_weights(session, json);
  session.heading("Settings");
  Table table("ll");
  for (const auto& [name, value] : json["settings"].items())
    if (name != "precision_summary") table.add({name, value.get<std::string>()});
  table.add({"refittable", json["refittable"].get<bool>() ? "yes" : "no"});
  table.add(
      {"candidates", json.contains("candidates") ? "recorded, for `tenon why`" : "not recorded"});
  session.line("{}", table.text());
}

void show_nodes(Session& session, const Json& json) {
  session.heading(json.contains("nodes") ? "Nodes" : "Layers in their order");
  Table table("lll");
  if (json.contains("nodes"))
    for (const Json& node : json["nodes"])
      table.add(
          {text_of(node, "name"), text_of(node, "operator"),
           fmt::format("{}", fmt::join(node["outputs"].get<std::vector<std::string>>(), ", "))});
  if (json.contains("layers"))
    for (const Json& layer : json["layers"])
      table.add({text_of(layer, "name"), text_of(layer, "operator"), text_of(layer, "kernel")});
  session.line("{}", table.text());
}

Status inspect(Session& session, const CommandLine& line) {
  const std::string& file = line.words().front();
  const bool plan = is_meant_as_plan(file);
  if (line.has("steps") && !plan)
    return user_error("--steps: '{}' is no plan, and models have no steps: build one first", file);
  if (line.has("json")) TENON_TRY(check_writable(line.text("json")));
  session.enter(plan ? Stage::kRun : Stage::kModel);
  Json json;
  if (plan) {
    TENON_ASSIGN(const std::vector<char> bytes, read_file(file));
    TENON_ASSIGN(json, plan_json(session, bytes));
  } else {
    TENON_ASSIGN(json, model_json(session, file));
  }
  session.line("{}", session.bold(file));
  plan ? show_plan_facts(session, json) : show_model(session, json);
  if (line.has("nodes")) show_nodes(session, json);
  if (line.has("passes") && json.contains("passes")) {
    session.heading("Applied passes");
    for (const Json& pass : json["passes"])
      session.line("{}", wrapped("  ", printable_name(pass.get<std::string>()), 2));
  }
  if (line.has("steps") && plan) {
    session.heading("Steps at the usual shapes");
    TENON_ASSIGN(const std::string steps, plan_steps(session, file));
    session.line("{}", steps);
  }
  if (!line.has("json")) return {};
  return write_file(line.text("json"), json.dump(1));
}

}  // namespace

int run_inspect(std::span<const char* const> words) {
  return run_with_line(kUsage, words, inspect);
}

}  // namespace tenon::tools
