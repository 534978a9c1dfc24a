#include "runtime/sample_steps.h"

#include <algorithm>

#include "ops/ops.h"

namespace tenon {
namespace {

// Images of all samples that leave little of a last-level cache to later steps.
constexpr int64_t kLeastImages = int64_t{8} << 20;
// Weights that are read again for every sample stay in the caches until then.
constexpr int64_t kMostWeights = int64_t{1} << 20;

bool treats_samples_alone(const Operation& node) {
  if (node.is<Fused>()) {
    const auto nodes = node.bodies()[0]->nodes();
    return std::all_of(nodes.begin(), nodes.end(),
                       [](const auto& inner) { return treats_samples_alone(*inner); });
  }
  if (node.is<Pool>()) return node.output_count() == 1;
  return node.is<Conv>() || node.is<Pointwise>() || node.is<Cast>();
}

/// Makes the operand one sample's. Returns the bytes from sample to sample, 0 where all share it,
/// or nothing where it is no batch of images.
std::optional<int64_t> take_sample(Operand& operand, int64_t samples, int rank) {
  if (!operand.present) return 0;
  if (operand.constant != nullptr)  // Weights, unless it could be numbers for every sample.
    return operand.rank() == rank && operand.extents[0] == samples ? std::nullopt
                                                                   : std::optional<int64_t>(0);
  if (operand.rank() != rank || operand.extents[0] != samples) return std::nullopt;
  const int64_t elements =
      operand.dense() ? operand.count() / std::max<int64_t>(1, samples) : operand.strides[0];
  const int64_t bytes = elements * byte_size(operand.type);
  operand.extents[0] = 1;
  while (operand.alignment > 1 && bytes % operand.alignment != 0) operand.alignment /= 2;
  return bytes;
}

int64_t bytes_of(const Operand& operand) {
  return operand.present ? operand.count() * byte_size(operand.type) : 0;
}

bool pays(const Problem& whole) {
  int64_t images = 0, weights = 0;
  for (const auto* operands : {&whole.inputs, &whole.outputs})
    for (const Operand& operand : *operands)
      (operand.constant != nullptr ? weights : images) += bytes_of(operand);
  return images >= kLeastImages && weights <= kMostWeights;
}

}  // namespace

std::optional<SampleStep> sample_step(const Problem& whole) {
  if (whole.outputs.empty()) return std::nullopt;  // An assertion has none.
  const int rank = whole.output().rank();
  if (rank < 3 || !treats_samples_alone(whole.operation) || !pays(whole)) return std::nullopt;
  SampleStep step{.problem = whole, .samples = whole.output().extents[0]};
  if (step.samples < 2) return std::nullopt;
  for (Operand& operand : step.problem.inputs) {
    const auto bytes = take_sample(operand, step.samples, rank);
    if (!bytes.has_value()) return std::nullopt;
    step.input_bytes.push_back(*bytes);
  }
  for (Operand& operand : step.problem.outputs) {
    const auto bytes = take_sample(operand, step.samples, rank);
    if (!bytes.has_value()) return std::nullopt;
    step.output_bytes.push_back(*bytes);
  }
  return step;
}

}  // namespace tenon
