#include "check/moved_outputs.h"

#include <fmt/format.h>

#include "check/compare.h"

namespace tenon {
namespace {

/// Outputs that quantization moves by more mean little.
constexpr double kLost = 0.25;

}  // namespace

std::string MovedOutputs::by_precision(std::string_view types,
                                       std::span<const Deviation> found) const {
  std::string text;
  for (size_t i = 0; i < found.size(); ++i) {
    if (found[i].norm <= kNotable || types.empty()) continue;
    text += fmt::format("{}{} moves output '{}' by {:.2g}", text.empty() ? "" : "; ", types,
                        network.outputs()[i]->name, found[i].norm);
    if (!rounded.empty())
      text += fmt::format("; rounding alone by {:.2g}", distance(rounded[i], expected[i]));
  }
  return text;
}

std::string MovedOutputs::by_quantization(std::span<const Tensor> plain, Logger& logger) const {
  std::string text, lost;
  for (size_t i = 0; i < plain.size(); ++i) {
    const double moved = distance(actual[i], plain[i]);
    if (moved <= kNotable) continue;
    const std::string& name = network.outputs()[i]->name;
    text += fmt::format("{}int8 moves output '{}' by {:.2g} of its size", text.empty() ? "" : "; ",
                        name, moved);
    if (moved > kLost) lost += fmt::format("{}'{}'", lost.empty() ? "" : ", ", name);
  }
  if (!lost.empty())
    logger.warning(
        "self-check: on random inputs, {}: the ranges of the tensors do not fit, and {} of the "
        "plan means little. Give ranges of real data (--calib=FILE, setInt8Calibrator), or "
        "quantize the model (`tenon quantize`)",
        text, lost);
  return text;
}

}  // namespace tenon
