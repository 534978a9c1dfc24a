#include "select/expected_time.h"

#include <algorithm>

#include "device/device.h"
#include "ops/ops.h"
#include "select/measure.h"

namespace tenon {
namespace {

/// Multiplications and bytes a second, of a core and of a GPU; the order of magnitude matters.
constexpr double kCoreRate = 2e10, kCoreBandwidth = 1e10;
constexpr double kGpuRate = 2e13, kGpuBandwidth = 1e12;
constexpr double kLaunch = 3e-6;

double count_of(const Operand& operand) {
  return operand.present ? static_cast<double>(operand.count()) : 0.0;
}

/// The operation itself, or the member of its region that multiplies most; none where nothing
/// multiplies.
Operation heaviest(const Operation& operation) {
  const auto multiplies = [](const Operation& member) {
    return member.is<Conv>() || member.is<Deconv>() || member.is<MatMul>() ||
           member.is<Attention>() || member.is<Rnn>();
  };
  if (multiplies(operation)) return operation;
  for (const auto& body : operation.bodies())
    for (const auto& member : body->nodes())
      if (multiplies(*member)) return *member;
  return {};
}

/// Multiplications for one element of the result: weights for each output channel, or elements of a
/// row. Constant numbers and vectors are scales and biases.
double depth_of(const Operation& node, const Problem& problem) {
  double weights = 0;
  for (const Operand& input : problem.inputs)
    if (input.constant != nullptr && input.extents.size() > 1)
      weights = std::max(weights, count_of(input));
  const Extents& out = problem.output().extents;
  if (weights > 0 && !out.empty()) {
    const bool is_image = (node.is<Conv>() || node.is<Deconv>()) && out.size() > 1;
    const auto channels = static_cast<double>(is_image ? out[1] : out.back());
    return weights / std::max(channels, 1.0);
  }
  if (node.is<Attention>() && problem.inputs.size() > 1) {
    // Scores and sums over all keys.
    const Extents& keys = problem.input(1).extents;
    return keys.size() < 2 ? 1.0 : 2.0 * static_cast<double>(keys[keys.size() - 2]);
  }
  const Extents& in = problem.inputs.empty() ? out : problem.input(0).extents;
  return in.empty() ? 1.0 : static_cast<double>(in.back());
}

/// Of a convolution with constant weights: its window, its last stride, and whether it has groups.
int form_of(const Operation& node, const Problem& problem) {
  const Conv* const conv = node.as<Conv>();
  if (conv == nullptr) return 0;
  const Operand* weights = nullptr;
  for (const Operand& input : problem.inputs)
    if (input.constant != nullptr && input.extents.size() > 2 &&
        (weights == nullptr || input.count() > weights->count()))
      weights = &input;
  if (weights == nullptr) return 0;
  constexpr int64_t kMost = 31;
  const int64_t stride = conv->strides.empty() ? 1 : conv->strides.back();
  int64_t form = conv->groups > 1 ? 2 : 1;
  for (const int64_t extent : {stride, weights->extents[2], weights->extents.back()})
    form = form * (kMost + 1) + std::min(extent, kMost);
  return static_cast<int>(form);
}

}  // namespace

bool has_product(const Problem& problem) {
  return static_cast<bool>(heaviest(problem.operation));
}

double multiplications(const Problem& problem) {
  if (problem.outputs.empty()) return 0;
  const double count = count_of(problem.output());
  const Operation heavy = heaviest(problem.operation);
  return heavy ? count * std::max(depth_of(heavy, problem), 1.0) : 4 * count;
}

KernelWork work_of(const Problem& problem) {
  const Operation heavy = problem.outputs.empty() ? Operation() : heaviest(problem.operation);
  KernelWork work{.operations = multiplications(problem),
                  .kind = heavy ? heavy.name() : problem.operation.name()};
  work.is_cold = is_timed_cold(problem);
  work.form = heavy ? form_of(heavy, problem) : 0;
  if (!problem.inputs.empty()) work.type = problem.input(0).type;
  for (const auto* operands : {&problem.inputs, &problem.outputs})
    for (const Operand& operand : *operands) {
      const double bytes = count_of(operand) * static_cast<double>(byte_size(operand.type));
      work.bytes += bytes;
      if (operand.constant != nullptr) work.weights += bytes;
    }
  return work;
}

double expected_launch(const Problem& problem) {
  const double bytes = work_of(problem).bytes;
  const bool on_gpu = problem.device != nullptr && !problem.device->capabilities().host_cores;
  if (on_gpu) return kLaunch + multiplications(problem) / kGpuRate + bytes / kGpuBandwidth;
  const double threads = std::max(problem.threads, 1);
  return kLaunch + multiplications(problem) / (kCoreRate * threads) + bytes / kCoreBandwidth;
}

}  // namespace tenon
