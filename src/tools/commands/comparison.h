#pragma once

#include <optional>
#include <string>

#include "tools/commands/sides.h"

namespace tenon::tools {

/// Who computes what an engine is compared with.
enum class Yardstick { kReference, kOnnxRuntime };
std::optional<Yardstick> parse_yardstick(std::string_view word);

/// The distance that is still agreement: of --tolerance, else as the precisions that the flags
/// allow round.
Result<double> tolerance_of(Session& session, const CommandLine& line);

/// Compares the outputs of `computed`, by the engine of the arguments, with the yardstick's, by
/// `model`. Where one differs and a model was built, it is built again with all tensors kept, to
/// find the first bad one. The catalogue's error where outputs differ.
Status compare_with(Session& session, Yardstick yardstick, const Arguments& arguments,
                    const std::string& model, const Computed& computed, double tolerance);

/// The outputs of two sides, and the first bad tensor among those that both have.
Status compare_sides(Session& session, const Computed& got, const TensorValues& expected,
                     double tolerance);

}  // namespace tenon::tools
