// `tenon optimize`.
#include <algorithm>

#include "tenon/passes.h"
#include "tools/build.h"
#include "tools/build_progress.h"
#include "tools/commands/engine_source.h"
#include "tools/commands/plan_table.h"
#include "tools/interrupt.h"
#include "tools/page.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon optimize bert.onnx -o optimized.onnx", "all passes; open the result in Netron"},
    {"tenon optimize bert.onnx -o optimized.onnx --shapes=ids:1x128", "with these extents fixed"},
    {"tenon optimize yolo.onnx -o plain.onnx --disablePass=fuse_epilogue", "without one pass"},
    {"tenon optimize yolo.onnx -o fewer.onnx --builderOptimizationLevel=0", "only what must be"},
};

constexpr OwnFlag kFlags[] = {
    {"o", "ONNX",
     "where to save the model; MODEL with .optimized.onnx in place of .onnx where it is not given"},
};

constexpr OptionGroup kGroups[] = {OptionGroup::kBuild, OptionGroup::kTenon};

constexpr Usage kUsage = {
    .command = "optimize",
    .words = "MODEL [-o ONNX] [flags]",
    .purpose =
        "Writes the graph as a build optimizes it, ahead of the choice of kernels, as an ONNX "
        "model. Fused regions are local functions of standard operators, named after the region: "
        "other runtimes compute the same, and viewers show each as one node. Extents that no flag "
        "fixes stay open.",
    .examples = kExamples,
    .flags = kFlags,
    .exec_flags = ExecFlags::kAll,
    .groups = kGroups,
};

std::string optimized_name(const std::string& model) {
  const std::string stem = model.ends_with(".onnx") ? model.substr(0, model.size() - 5) : model;
  return stem.substr(stem.find_last_of('/') + 1) + ".optimized.onnx";
}

size_t size_of(const Json& json, const char* list) {
  return json.contains(list) ? json[list].size() : 0;
}

/// Nodes of the graph that call a function of ours.
size_t count_regions(const Json& json) {
  if (!json.contains("nodes")) return 0;
  return static_cast<size_t>(std::ranges::count_if(
      json["nodes"], [](const Json& node) { return node["domain"] == "tenon"; }));
}

Status show_both(Session& session, const std::string& before_file, const std::string& after_file) {
  TENON_ASSIGN(const Json before, model_json(session, before_file));
  TENON_ASSIGN(const Json after, model_json(session, after_file));
  Table table("lrr");
  table.add({"", "before", "after"});
  table.add({"nodes", fmt::format("{}", size_of(before, "nodes")),
             fmt::format("{}", size_of(after, "nodes"))});
  table.add({"of these, fused regions", fmt::format("{}", count_regions(before)),
             fmt::format("{}", count_regions(after))});
  session.line("\n{}", table.text());
  session.heading("Operators, those inside of regions included");
  session.line("{}", counts_text("before", before["operators"]));
  Json operators = after["operators"];
  for (const Json& node : after["nodes"])
    if (node["domain"] == "tenon") operators.erase("tenon." + node["operator"].get<std::string>());
  session.line("{}", counts_text("after", operators));
  session.heading("Weights");
  show_weights(session, after);
  return {};
}

void show_next(Session& session, const std::string& file, const std::string& model) {
  NextCommands next;
  next.add(fmt::format("netron {}", shell_word(file)), "look at it");
  next.add(fmt::format("tenon compare {} {}", shell_word(model), shell_word(file)),
           "both compute the same");
  next.add(fmt::format("tenon inspect {} --nodes", shell_word(file)), "every node");
  session.heading("Next");
  session.line("{}", next.text());
}

Status optimize(Session& session, const CommandLine& line) {
  const std::string& model = line.words().front();
  TENON_TRY(expect_model(session, "optimize", model));
  const std::string file = line.has("o") ? line.text("o") : optimized_name(model);
  TENON_ASSIGN(Arguments arguments, prepare(session, line));
  session.line("{}", session.bold(fmt::format("{} to {}", model, file)));
  BuildListener staged;
  staged.reading = [&] { session.enter(Stage::kModel); };
  staged.parsed = [&](const nvinfer1::INetworkDefinition&, double) {
    session.enter(Stage::kBuild);
  };
  TENON_ASSIGN(
      const PreparedBuild made,
      prepare_build(arguments, session.console(), session.logger(), &staged, OpenExtents::kStay));
  BuildProgress progress(session.console(), /*shown=*/false);
  made.config->setProgressMonitor(&progress);
  if (!writeOptimizedModel(*made.network, *made.config, file.c_str(), session.logger())) {
    if (interrupted())
      return session.fail(ErrorId::kInterrupted, "stopped: '{}' is not written", file);
    return user_error("the optimized graph of '{}' could not be written to '{}'", model, file);
  }
  TENON_TRY(show_both(session, model, file));
  session.show_warnings();
  show_next(session, file, model);
  return {};
}

}  // namespace

int run_optimize(std::span<const char* const> words) {
  return run_with_line(kUsage, words, optimize);
}

}  // namespace tenon::tools
