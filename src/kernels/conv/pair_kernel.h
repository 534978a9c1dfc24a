#pragma once

#include <memory>
#include <utility>

#include "kernels/conv/describe_pair.h"
#include "kernels/cpu_tactic.h"

namespace tenon::cpu {

/// A kernel of two convolutions in one step. `Both` is made of their problems and weights, and
/// packs the weights.
template <class Both> class PairKernel : public Kernel {
 public:
  PairKernel(Both both, ConvPair description)
      : both_(std::move(both)), d_(std::move(description)) {}

  Status run(const LaunchArguments& arguments) const override {
    const auto floats = [&](int input) {
      return input < 0 ? nullptr : static_cast<const float*>(arguments.inputs[input]);
    };
    TENON_TRY(check_threads(arguments.queue.pool->threads(), d_.problems[0].threads));
    typename Both::Arguments given{floats(d_.image), static_cast<float*>(arguments.outputs[0]),
                                   floats(d_.layers[0].bias), floats(d_.layers[1].bias)};
    if constexpr (requires { given.ahead; }) given.ahead = arguments.ahead;
    both_.run(given, *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return both_.scratch_bytes(); }
  bool uses_input(int input) const override { return !packs_input(input); }
  std::span<const std::byte> packed() const override { return both_.packed(); }
  bool packs_input(int input) const override {
    return input == d_.layers[0].weights || input == d_.layers[1].weights;
  }

 protected:
  const Both& both() const { return both_; }

 private:
  Both both_;
  ConvPair d_;
};

template <class Both, bool stem> Result<ConvPair> describe_pair_for(const Problem& problem) {
  TENON_ASSIGN(ConvPair d, describe_pair(problem, stem));
  TENON_TRY(Both::check(d.problems[0], d.problems[1]));
  return d;
}

template <class Made, class Both>
Result<std::unique_ptr<Kernel>> make_pair_kernel(const Problem& problem, ConvPair d) {
  TENON_ASSIGN(Both both,
               Both::prepare(d.problems[0], d.problems[1], weights_of(problem, d.layers[0]),
                             weights_of(problem, d.layers[1])));
  return make_kernel<Made>(std::move(both), std::move(d));
}

}  // namespace tenon::cpu
