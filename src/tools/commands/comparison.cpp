#include "tools/commands/comparison.h"

#include "base/counted.h"
#include "tools/page.h"
#include "tools/values.h"

namespace tenon::tools {
namespace {

std::string_view name_of(Yardstick yardstick) {
  return yardstick == Yardstick::kReference ? "the reference" : "ONNX Runtime";
}

Result<TensorValues> compute_by(Session& session, Yardstick yardstick, const Arguments& arguments,
                                const std::string& model, const Inputs& inputs, bool inside) {
  if (yardstick == Yardstick::kOnnxRuntime)
    return compute_by_onnxruntime(session, model, inputs, inside);
  Arguments of_model = arguments;
  of_model.give(OptionId::onnx, model);
  return compute_by_reference(session, of_model, inputs);
}

/// The model's build again, every tensor kept: passes fuse less, so that a mistake of a fusion may
/// not show.
Result<Computed> compute_inside(Session& session, Arguments arguments, const Inputs& inputs) {
  session.line(
      "\n  Outputs differ: the model is built again with all tensors kept, to find where "
      "it begins.\n");
  arguments.give(OptionId::markDebug, "*");
  arguments.give(OptionId::saveEngine, "");
  arguments.give(OptionId::noSelfCheck, "");
  return compute_by_engine(session, arguments, &inputs, true);
}

/// Of tables without a row.
Status nothing_shared(Session& session, size_t outputs, std::string_view other) {
  session.enter(Stage::kAccuracy);
  return session.fail(ErrorId::kNothingShared, "none of {} is among those of {}",
                      counted(outputs, "output"), other);
}

}  // namespace

std::optional<Yardstick> parse_yardstick(std::string_view word) {
  if (word == "reference") return Yardstick::kReference;
  if (word == "onnxruntime") return Yardstick::kOnnxRuntime;
  return std::nullopt;
}

Result<double> tolerance_of(Session& session, const CommandLine& line) {
  constexpr double kFloat = 1e-4, kHalf = 1e-2, kBrain = 5e-2, kEight = 1e-1;
  if (line.has("tolerance")) {
    const auto given = parse_real(line.text("tolerance"));
    if (given.has_value() && *given >= 0) return *given;
    return session.fail(ErrorId::kFlagValue, "--tolerance={}: it is a number from 0 on",
                        line.text("tolerance"));
  }
  const Arguments& arguments = line.arguments();
  if (arguments.flag(OptionId::int8) || arguments.flag(OptionId::fp8)) return kEight;
  if (arguments.flag(OptionId::bf16) || arguments.flag(OptionId::best) ||
      arguments.flag(OptionId::fp16))
    return kBrain;
  return arguments.flag(OptionId::noTF32) ? kFloat : kHalf;
}

Status compare_sides(Session& session, const Computed& got, const TensorValues& expected,
                     double tolerance) {
  const auto [shared, bad] =
      show_deviations(session, got.tensors, expected, got.outputs, tolerance);
  if (shared == 0 && !got.outputs.empty())
    return nothing_shared(session, got.outputs.size(), "the other side");
  if (got.tensors.size() > got.outputs.size())
    show_first_bad(session, got.tensors, expected, tolerance);
  if (bad == 0) return {};
  session.enter(Stage::kAccuracy);
  return session.fail(ErrorId::kDiffers,
                      "{} of {} outputs are further away than the tolerance {:g}", bad,
                      got.outputs.size(), tolerance);
}

Status compare_with(Session& session, Yardstick yardstick, const Arguments& arguments,
                    const std::string& model, const Computed& computed, double tolerance) {
  TENON_ASSIGN(const TensorValues expected,
               compute_by(session, yardstick, arguments, model, computed.inputs, false));
  session.heading(fmt::format("Compared with {}, tolerance {:g}", name_of(yardstick), tolerance));
  const auto [shared, bad] =
      show_deviations(session, computed.tensors, expected, computed.outputs, tolerance);
  if (shared == 0 && !computed.outputs.empty())
    return nothing_shared(session, computed.outputs.size(), name_of(yardstick));
  if (bad == 0) return {};
  if (!arguments.has(OptionId::loadEngine)) {
    TENON_ASSIGN(const Computed inside, compute_inside(session, arguments, computed.inputs));
    TENON_ASSIGN(const TensorValues all,
                 compute_by(session, yardstick, arguments, model, computed.inputs, true));
    show_first_bad(session, inside.tensors, all, tolerance);
    // Its optimizer is off where all tensors are kept.
    if (yardstick == Yardstick::kOnnxRuntime &&
        all_agree(computed.tensors, all, computed.outputs, tolerance))
      session.line(
          "  Without its graph optimizations ONNX Runtime agrees with the plan: they make the "
          "difference");
  }
  session.enter(Stage::kAccuracy);
  return session.fail(ErrorId::kDiffers,
                      "{} of {} outputs of '{}' are further from {} than the tolerance {:g}", bad,
                      computed.outputs.size(), model, name_of(yardstick), tolerance);
}

}  // namespace tenon::tools
