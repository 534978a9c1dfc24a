#pragma once

#include <span>
#include <string>
#include <vector>

#include "check/deadline.h"
#include "check/network_facts.h"
#include "check/network_reference.h"
#include "ops/numerics.h"

namespace tenon {

/// Outputs of a plan beside those of the network that it was made from, and how much of the
/// difference rounding explains.
class OutputCheck {
 public:
  /// Refers to the first two, which must outlive it.
  OutputCheck(const Graph& network, const NetworkReference& reference, const PlanRounding& rounding)
      : network_(network), reference_(reference), rounding_(rounding) {}

  /// Takes the outputs of a plan, in place of those of the one before.
  void compare(std::vector<Tensor> outputs);
  /// The same outputs next to results of the network with the plan's rounding.
  void compare_rounded(std::vector<Tensor> rounded);
  /// One draw of the rounding may leave alone a sum in the middle between two quantized numbers, a
  /// row of equal ones, or a sum whose terms cancel: others show how far such outputs move. Each
  /// may explain other outputs.
  void compare_more_draws(const StoredTypes& types, const Deadline& end);
  /// The passes' results for the network in its own precision in place of the plan's: next to them
  /// sums in another order alone are right. Returns whether they differ by more.
  bool compare_passes(const std::vector<Tensor>& outputs);

  bool agrees() const { return deviates_.empty(); }
  /// The first difference in words; empty where all agree.
  const std::string& deviates() const { return deviates_; }
  /// No pass alone is to blame for the difference, which is below a network's limit.
  void accept() { deviates_.clear(); }
  /// Whether the passes' difference is below a network's limit.
  bool is_fine() const { return is_fine_; }

  std::span<const Tensor> outputs() const { return outputs_; }
  /// Empty until compare_rounded().
  const std::vector<Tensor>& rounded() const { return rounded_; }
  /// The most that other orders of sums move outputs, by compare_passes().
  const std::vector<Tensor>& reordered() const { return reordered_; }
  const std::vector<Deviation>& found() const { return found_; }

  /// Whether rounding shows so much that it is worth a report.
  bool is_notable() const;
  /// Whether the plan's outputs are as near to the reference's as one kernel's.
  bool is_near() const;

  /// Of passes' results next to the network's, by the same kernels.
  static Tolerance pass_limit();

 private:
  std::string difference(const std::vector<Tensor>& outputs, const std::vector<Tensor>& rounded,
                         const Tolerance& tolerance, std::vector<Deviation>* found = nullptr) const;

  const Graph& network_;
  const NetworkReference& reference_;
  PlanRounding rounding_;
  std::vector<Tensor> outputs_, rounded_, reordered_;
  std::vector<Deviation> found_;
  std::string deviates_;
  bool is_fine_ = false;
};

}  // namespace tenon
