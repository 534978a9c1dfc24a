#include "select/problem_key.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "kernels/sparse_weights.h"
#include "ops/operation_text.h"

namespace tenon {
namespace {

/// Constants up to this many elements are axes, pads, steps, zero points.
constexpr int64_t kFewElements = 16;

/// Kernels look at few integers before they take a problem, and loop as these say.
void add_constant(std::string& out, const Tensor& constant) {
  out += 'c';
  if (!is_integer(constant.type()) || !constant.defined() || constant.count() > kFewElements)
    return;
  fmt::format_to(std::back_inserter(out), "({})", fmt::join(constant.to_int64s(), ","));
}

void add_operand(std::string& out, const Operand& operand) {
  if (!operand.present) {
    out += " -";
    return;
  }
  fmt::format_to(
      std::back_inserter(out), " {}[{}]{}{}", name_of(operand.type),
      fmt::join(operand.extents, "x"), operand.layout == Layout::kChannelsLast ? "@nhwc" : "",
      operand.dense() ? std::string() : fmt::format("/{}", fmt::join(operand.strides, ",")));
  if (operand.constant != nullptr) {
    add_constant(out, *operand.constant);
    if (const auto word = sparse_word(*operand.constant); !word.empty())
      fmt::format_to(std::back_inserter(out), "({})", word);
  }
  if (operand.alignment < 16) fmt::format_to(std::back_inserter(out), "/{}B", operand.alignment);
}

}  // namespace

std::string problem_key(const Problem& problem) {
  const DeviceProperties& device = problem.device->properties();
  std::string key =
      fmt::format("{}|{}|{}|units={}|threads={}|tf32={}|", device.name, device.architecture,
                  device.libraries, device.compute_units, problem.threads, problem.numerics.tf32);
  if (!problem.numerics.winograd) key += "no winograd|";
  if (!problem.numerics.strassen) key += "no strassen|";
  if (!problem.numerics.bf16_parts) key += "no bf16 parts|";
  if (!problem.numerics.long_float8_sums) key += "short float8 sums|";
  if (limits_shared_memory(problem)) key += fmt::format("shared={}|", problem.shared_memory);
  if (problem.isa_limit != Problem{}.isa_limit) key += fmt::format("isa={}|", problem.isa_limit);
  if (!problem.packed.empty()) key += "packed|";
  if (std::ranges::any_of(problem.inputs, &Operand::uniform_rows)) key += "uniform|";
  add_operation_text(key, problem.operation);
  key += "|";
  for (const Operand& input : problem.inputs) add_operand(key, input);
  key += " ->";
  for (const Operand& output : problem.outputs) add_operand(key, output);
  return key;
}

std::string timing_prefix(const std::string& problem, const Tactic& tactic) {
  return fmt::format("{}|{}v{}{{", problem, tactic.name, tactic.version);
}

std::string timing_key(const std::string& problem, const Tactic& tactic,
                       const std::string& config) {
  return timing_prefix(problem, tactic) + config + "}";
}

}  // namespace tenon
