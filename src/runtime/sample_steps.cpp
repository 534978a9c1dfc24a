#include "runtime/sample_steps.h"

#include <algorithm>
#include <bit>
#include <charconv>

#include "ops/ops.h"

namespace tenon {
namespace {

// Images of all samples that leave little of a last-level cache to later steps.
constexpr int64_t kLeastImages = int64_t{8} << 20;
// Weights that are read again for every sample stay in the caches until then.
constexpr int64_t kMostWeights = int64_t{1} << 20;

/// Whether all samples are rounded by the same scales. Weights have no samples.
template <class Op>
bool shares_scales(const Op& op, const Value& x, const Problem* fused, int rank) {
  const bool is_weights =
      fused != nullptr && x.producer() == nullptr && fused->inputs[x.index()].constant != nullptr;
  return is_weights || (op.axis != 0 && op.axis != -rank);
}

/// Whether a sample's numbers follow from those of the same sample alone. `fused`: the step whose
/// body the node is in, if any.
bool treats_samples_alone(const Operation& node, int rank, const Problem* fused = nullptr) {
  if (const auto* op = node.as<Quantize>())
    return shares_scales(*op, *node.node().input(0), fused, rank);
  if (const auto* op = node.as<Dequantize>())
    return shares_scales(*op, *node.node().input(0), fused, rank);
  if (node.is<Pool>()) return node.output_count() == 1;
  return node.is<Conv>() || node.is<Pointwise>() || node.is<Cast>();
}

bool treats_samples_alone(const Problem& whole) {
  const Operation& operation = whole.operation;
  const int rank = whole.output().rank();
  if (!operation.is<Fused>()) return treats_samples_alone(operation, rank);
  const auto nodes = operation.bodies()[0]->nodes();
  return std::all_of(nodes.begin(), nodes.end(),
                     [&](const auto& inner) { return treats_samples_alone(*inner, rank, &whole); });
}

/// Makes the operand one turn's. Returns the bytes from turn to turn, 0 where all share it, or
/// nothing where it is no batch of images.
std::optional<int64_t> take_turn(Operand& operand, int64_t samples, int64_t turn, int rank) {
  if (!operand.present) return 0;
  if (operand.constant != nullptr)  // Weights, unless it could be numbers for every sample.
    return operand.rank() == rank && operand.extents[0] == samples ? std::nullopt
                                                                   : std::optional<int64_t>(0);
  if (operand.rank() != rank || operand.extents[0] != samples) return std::nullopt;
  const int64_t elements =
      operand.dense() ? operand.count() / std::max<int64_t>(1, samples) : operand.strides[0];
  const int64_t bytes = elements * turn * byte_size(operand.type);
  operand.extents[0] = turn;
  while (operand.alignment > 1 && bytes % operand.alignment != 0) operand.alignment /= 2;
  return bytes;
}

int64_t bytes_of(const Operand& operand) {
  return operand.present ? operand.count() * byte_size(operand.type) : 0;
}

/// The nearest power of two: most batches run the same steps in turns as others do, so that lists
/// of steps serve them too.
int64_t usual_batch(int64_t samples) {
  const auto below = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(samples)));
  return 2 * (samples - below) < below ? below : 2 * below;
}

/// Whether turns of that part of a batch pay.
bool pays(const Problem& whole, int64_t turns, int64_t most_bytes) {
  const int64_t samples = whole.output().extents[0];
  int64_t images = 0, weights = 0;
  for (const auto* operands : {&whole.inputs, &whole.outputs})
    for (const Operand& operand : *operands)
      (operand.constant != nullptr ? weights : images) += bytes_of(operand);
  return images / samples * usual_batch(samples) >= kLeastImages && weights <= kMostWeights &&
         images / turns + weights <= most_bytes;
}

/// The largest number of samples up to `most` that a batch can be divided into.
int64_t size_of_turn(int64_t samples, int64_t most) {
  int64_t turn = std::min(samples, most);
  while (samples % turn != 0) --turn;
  return turn;
}

}  // namespace

std::optional<SampleStep> sample_step(const Problem& whole, const SampleTurns& turns) {
  // An assertion has no outputs.
  if (turns.samples < 1 || whole.outputs.empty()) return std::nullopt;
  const int rank = whole.output().rank();
  if (rank < 3 || !treats_samples_alone(whole)) return std::nullopt;
  const int64_t samples = whole.output().extents[0];
  if (samples < 2) return std::nullopt;
  const int64_t turn = size_of_turn(samples, turns.samples);
  SampleStep step{.problem = whole, .samples = samples / turn};
  if (step.samples < 2 || !pays(whole, step.samples, turns.most_bytes)) return std::nullopt;
  for (Operand& operand : step.problem.inputs) {
    const auto bytes = take_turn(operand, samples, turn, rank);
    if (!bytes.has_value()) return std::nullopt;
    step.input_bytes.push_back(*bytes);
  }
  for (Operand& operand : step.problem.outputs) {
    const auto bytes = take_turn(operand, samples, turn, rank);
    if (!bytes.has_value()) return std::nullopt;
    step.output_bytes.push_back(*bytes);
  }
  return step;
}

std::string to_text(const SampleTurns& turns) {
  return turns.most_bytes == INT64_MAX ? fmt::format("{}", turns.samples)
                                       : fmt::format("{} {}", turns.samples, turns.most_bytes);
}

std::optional<SampleTurns> parse_turns(std::string_view text) {
  SampleTurns turns;
  const char* const end = text.data() + text.size();
  const auto samples = std::from_chars(text.data(), end, turns.samples);
  if (samples.ec != std::errc() || turns.samples < 0) return std::nullopt;
  if (samples.ptr == end) return turns;
  const auto bytes = std::from_chars(samples.ptr + 1, end, turns.most_bytes);
  const bool ends = bytes.ec == std::errc() && bytes.ptr == end && *samples.ptr == ' ';
  return ends ? std::optional(turns) : std::nullopt;
}

}  // namespace tenon
