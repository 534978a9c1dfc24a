#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ops/pointwise_function.h"

namespace tenon {

/// A scalar function of one value x: of one operand, or of two where the other is a number.
struct ScalarStep {
  PointwiseFunction function{};
  double alpha = 0, beta = 0;
  double number = 0;
  bool number_first = false;

  bool has_number() const { return pointwise_info(function).arity == 2; }
};

/// "tanh", "clip -5 5", "max x 3", "sub 1 x": operators keep such steps as attributes.
std::string to_string(const ScalarStep& step);
std::optional<ScalarStep> parse_scalar_step(std::string_view text);
/// Nothing when one of them is no step.
std::optional<std::vector<ScalarStep>> parse_scalar_steps(const std::vector<std::string>& texts);

/// Functions of reals that give reals, of one operand or of two.
bool can_be_step(PointwiseFunction function);

/// In place.
void apply_scalar_step(const ScalarStep& step, float* row, int64_t count);
void apply_scalar_step(const ScalarStep& step, double* row, int64_t count);

}  // namespace tenon
