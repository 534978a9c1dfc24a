#pragma once

#include <span>
#include <vector>

#include "ir/graph.h"

namespace tenon {

/// Right results of a network, without rounding.
Result<std::vector<Tensor>> exact_results(const Graph& network, std::span<const Tensor> inputs);

/// How far results of a network move when each of its values is off by a share of itself, as
/// rounding makes them: the yardstick for computations that rounding errors grow in (a row of
/// nearly equal numbers that is normalized twice). By trials with random errors in f64.
class Sensitivity {
 public:
  /// Errors of sums of f32 in another order, and of numbers that are kept in bf16.
  static constexpr double kShare = 1.0 / (1 << 20), kShareOfBFloat16 = 1.0 / (1 << 8);

  /// `network` is of the network level; `inputs` as it takes them.
  static Result<Sensitivity> of(const Graph& network, std::span<const Tensor> inputs,
                                double share = kShare);

  /// exact_results().
  const std::vector<Tensor>& exact() const { return exact_; }
  /// Whether an output is as near to the exact one as values that are off by the share allow.
  bool explains(const Tensor& actual, size_t output) const;

 private:
  std::vector<Tensor> exact_;
  std::vector<double> spreads_;  ///< Of each output: the largest distance of a trial.
};

}  // namespace tenon
