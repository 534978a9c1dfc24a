// `tenon compare`.
#include "tools/commands/comparison.h"
#include "tools/page.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon compare bert_fp16.plan bert_fp32.plan", "two plans, by the same random inputs"},
    {"tenon compare bert.onnx onnxruntime --fp16", "a build against ONNX Runtime"},
    {"tenon compare bert.plan reference --model=bert.onnx", "a plan against the reference"},
    {"tenon compare a.onnx b.onnx --tensors", "the first tensor that differs, too"},
};

constexpr OwnFlag kFlags[] = {
    {"tolerance", "N",
     "distance (length of the difference over that of B) that is agreement still; "
     "by default as the precisions of the flags round"},
    {"model", "FILE", "the ONNX model of plan A, for onnxruntime and reference"},
    {"tensors", "", "build models with all tensors kept, and compare those inside as well"},
};

constexpr OptionGroup kGroups[] = {OptionGroup::kSystem};

constexpr Usage kUsage = {
    .command = "compare",
    .words = "A B [flags]",
    .purpose =
        "Computes A and B from the same inputs and compares their outputs. Each is a plan or "
        "a model, which is built with the flags given; B may be `onnxruntime` or "
        "`reference`.",
    .examples = kExamples,
    .flags = kFlags,
    .exec_flags = ExecFlags::kAll,
    .least_words = 2,
    .most_words = 2,
    .groups = kGroups,
};

/// The arguments of one side.
Arguments side(const Arguments& all, const std::string& file, bool tensors) {
  Arguments arguments = all;
  const bool plan = is_meant_as_plan(file);
  arguments.give(plan ? OptionId::loadEngine : OptionId::onnx, file);
  if (tensors && !plan) arguments.give(OptionId::markDebug, "*");
  return arguments;
}

Status compare(Session& session, const CommandLine& line) {
  TENON_ASSIGN(const Arguments common, prepare(session, line, /*with_file=*/false));
  TENON_ASSIGN(const double tolerance, tolerance_of(session, line));
  const std::string &a = line.words()[0], &b = line.words()[1];
  const auto yardstick = parse_yardstick(b);
  if (yardstick && is_meant_as_plan(a) && !line.has("model"))
    return session.fail(ErrorId::kMissingArgument,
                        "'{}' is a plan: --model=FILE names the ONNX model for {} to compute", a,
                        b);
  const bool tensors = line.has("tensors");
  TENON_ASSIGN(const Computed got,
               compute_by_engine(session, side(common, a, tensors && !yardstick), nullptr,
                                 tensors && !yardstick));
  if (yardstick)
    return compare_with(session, *yardstick, side(common, a, false),
                        line.has("model") ? line.text("model") : a, got, tolerance);
  session.line("");
  TENON_ASSIGN(const Computed expected,
               compute_by_engine(session, side(common, b, tensors), &got.inputs, tensors));
  session.heading(fmt::format("{} compared with {}, tolerance {:g}", a, b, tolerance));
  return compare_sides(session, got, expected.tensors, tolerance);
}

}  // namespace

int run_compare(std::span<const char* const> words) {
  return run_with_line(kUsage, words, compare);
}

}  // namespace tenon::tools
