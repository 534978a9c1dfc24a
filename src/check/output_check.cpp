#include "check/output_check.h"

#include <algorithm>
#include <utility>

#include "base/stop.h"
#include "check/compare.h"
#include "check/moved_outputs.h"

namespace tenon {
namespace {

/// Of rounding, where one does not explain a difference.
constexpr int kMoreDraws = 12;
constexpr int kDrawsOfPasses = 2;

}  // namespace

void OutputCheck::compare(std::vector<Tensor> outputs) {
  outputs_ = std::move(outputs);
  compare_rounded({});
}

void OutputCheck::compare_rounded(std::vector<Tensor> rounded) {
  rounded_ = std::move(rounded);
  found_.clear();
  deviates_ = difference(outputs_, rounded_, rounding_.tolerance(), &found_);
}

void OutputCheck::compare_more_draws(const StoredTypes& types, const Deadline& end) {
  if (rounded_.empty()) return;
  const StopScope stops([&end] { return end.passed(); });
  for (int draw = 1; draw <= kMoreDraws && !deviates_.empty() && !end.passed(); ++draw) {
    const auto more = reference_.rounded(types, rounding_.precision, rounding_.in_tf32, draw);
    if (!more.ok()) return;
    std::vector<Deviation> found;
    (void)difference(outputs_, *more, rounding_.tolerance(), &found);
    for (size_t i = 0; i < found_.size(); ++i)
      if (!found_[i].agrees() && found[i].agrees()) found_[i] = found[i], rounded_[i] = (*more)[i];
    if (std::ranges::all_of(found_, &Deviation::agrees)) deviates_.clear();
  }
}

bool OutputCheck::compare_passes(const std::vector<Tensor>& outputs) {
  deviates_ = difference(outputs, {}, pass_limit());
  reordered_.clear();
  for (int draw = 0; draw <= kDrawsOfPasses && !deviates_.empty(); ++draw) {
    reference_.take_larger_draw(draw, reordered_);
    deviates_ = difference(outputs, reordered_, pass_limit());
  }
  const Tolerance of_network = tolerance(Computation::kNetwork, DataType::kFloat32);
  is_fine_ = !deviates_.empty() && difference(outputs, reordered_, of_network).empty();
  return !deviates_.empty();
}

bool OutputCheck::is_notable() const {
  return !rounding_.name().empty() && std::ranges::any_of(found_, [](const Deviation& deviation) {
    return deviation.norm > MovedOutputs::kNotable;
  });
}

bool OutputCheck::is_near() const {
  return std::ranges::all_of(
      found_, [](const Deviation& deviation) { return deviation.norm <= pass_limit().norm; });
}

Tolerance OutputCheck::pass_limit() {
  return tolerance(Computation::kKernel, DataType::kFloat32);
}

std::string OutputCheck::difference(const std::vector<Tensor>& outputs,
                                    const std::vector<Tensor>& rounded, const Tolerance& tolerance,
                                    std::vector<Deviation>* found) const {
  return compare_outputs(network_, outputs, reference_.outputs(), rounded, tolerance, found);
}

}  // namespace tenon
