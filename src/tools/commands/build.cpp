// `tenon build`.

#include "tools/commands/engine_source.h"
#include "tools/commands/plan_table.h"
#include "tools/page.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon build resnet50.onnx -o resnet50.plan", "for the GPU, or for this CPU"},
    {"tenon build bert.onnx -o bert.plan --fp16", "in half precision where it pays"},
    {"tenon build bert.onnx --shapes=input_ids:8x128", "extents that the model leaves open"},
    {"tenon build yolo.onnx --budget=30s", "the best plan that 30 seconds give"},
    {"tenon build yolo.onnx --timingCacheFile=yolo.cache", "keeps times for the next build"},
};

constexpr OwnFlag kFlags[] = {
    {"o", "PLAN",
     "where to save the plan; MODEL with .plan in place of .onnx where it is not given"},
    {"budget", "TIME", "take at most so long: 30s, 5m. The largest layers are tuned first"},
    {"progressLog", "FILE", "write how far the build is as lines of JSON, at least five a second"},
    {"recordCandidates", "", "keep all candidate kernels in the plan, for `tenon why`"},
};

constexpr OptionGroup kGroups[] = {OptionGroup::kBuild, OptionGroup::kSystem, OptionGroup::kTenon};

constexpr Usage kUsage = {
    .command = "build",
    .words = "MODEL [-o PLAN] [flags]",
    .purpose = "Optimizes an ONNX model for one device and saves the plan.",
    .examples = kExamples,
    .flags = kFlags,
    .exec_flags = ExecFlags::kAll,
    .groups = kGroups,
};

std::string plan_name(const std::string& model) {
  const std::string stem = model.ends_with(".onnx") ? model.substr(0, model.size() - 5) : model;
  return stem.substr(stem.find_last_of('/') + 1) + ".plan";
}

/// Of another build in 16 bits, where the plan's device has products in them; else nothing.
std::string promise_of_16_bits(const Json& device) {
  if (device["kind"] == "GPU") return "half precision: often twice as fast";
  const bool has_products =
      device["architecture"].get<std::string>().find("bf16") != std::string::npos;
  return has_products ? "16-bit products (bf16)" : "";
}

void show_next(Session& session, const CommandLine& line, const Arguments& arguments,
               const Json& device) {
  const std::string plan = shell_word(arguments.text(OptionId::saveEngine));
  NextCommands next;
  next.add(fmt::format("tenon bench {}", plan), "how fast it is");
  next.add(fmt::format("tenon run {}", plan), "its outputs, with random inputs");
  next.add(fmt::format("tenon inspect {}", plan), "its layers and kernels");
  const bool narrow = arguments.has(OptionId::fp16) || arguments.has(OptionId::bf16) ||
                      arguments.has(OptionId::best) || arguments.has(OptionId::stronglyTyped);
  const std::string promise = promise_of_16_bits(device);
  if (!narrow && !promise.empty())
    next.add(fmt::format("tenon build {}{} --fp16", shell_word(arguments.text(OptionId::onnx)),
                         repeated_flags(line)),
             promise);
  session.heading("Next");
  session.line("{}", next.text());
}

Status build(Session& session, const CommandLine& line) {
  TENON_TRY(expect_model(session, "build", line.words().front()));
  TENON_ASSIGN(Arguments arguments, prepare(session, line));
  if (arguments.has(OptionId::loadEngine))
    return session.fail(ErrorId::kFlagsExclude,
                        "--loadEngine and `tenon build` exclude each other: give the model");
  if (!arguments.has(OptionId::saveEngine))
    arguments.give(OptionId::saveEngine, plan_name(line.words().front()));
  TENON_ASSIGN(const PlanSource plan, build_on_page(session, arguments, line.text("progressLog")));
  TENON_ASSIGN(const MappedBytes bytes, plan.bytes());
  TENON_ASSIGN(const Json json, show_plan(session, bytes.chars()));
  session.show_warnings();
  show_next(session, line, arguments, json["device"]);
  return {};
}

}  // namespace

int run_build(std::span<const char* const> words) {
  return run_with_line(kUsage, words, build);
}

}  // namespace tenon::tools
