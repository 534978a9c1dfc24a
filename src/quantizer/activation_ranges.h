#pragma once

#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "check/observed_run.h"
#include "quantizer/histogram.h"

namespace tenon {

/// Runs a network on batches, operator by operator in its own types, and counts the numbers of its
/// tensors of f32 and of 16-bit floats. Those inside branches and loops are not looked at. Not
/// thread-safe.
class ActivationRanges {
 public:
  /// `threads`: of a CPU. The network is copied. Tensors behind shapes that data decide are left
  /// out.
  static Result<ActivationRanges> create(const Graph& network, std::vector<Profile> profiles,
                                         const Backend& backend, int threads);

  /// One batch, in the order of the network's inputs, on the host.
  Status add(std::span<const Tensor> inputs);
  int batches() const { return batches_; }
  /// By name, of tensors that have one and were given a number.
  std::map<std::string, Histogram> histograms() const;

 private:
  ActivationRanges(ObservedRun run, Backend backend)
      : run_(std::move(run)), backend_(std::move(backend)) {}
  Status look_at(const StepResult& result);

  ObservedRun run_;
  Backend backend_;
  std::map<const Value*, Histogram> by_value_;
  int batches_ = 0;
};

}  // namespace tenon
