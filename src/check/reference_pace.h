#pragma once

#include <chrono>
#include <functional>
#include <unordered_map>
#include <utility>

#include "ir/graph.h"
#include "select/build_forecast.h"
#include "select/pack_weights.h"

namespace tenon {

/// Is told of an evaluation while it goes on; both may be empty.
struct ReferenceObserver {
  std::function<void(double seconds)> left;  ///< After each node: the rest of the evaluation.
  PackedKernel packed;                       ///< Of kernels that are made for it.
  /// Of each node that ran.
  std::function<void(const KernelWork& work, double seconds)> ran;
};

/// How much longer an evaluation of a network takes: its nodes run one after the other, and those
/// ahead follow the pace of those behind. Not thread-safe.
class ReferencePace {
 public:
  using Told = std::function<void(double seconds)>;
  using Ran = std::function<void(const KernelWork& work, double seconds)>;
  explicit ReferencePace(Told told, Ran ran = {}) : told_(std::move(told)), ran_(std::move(ran)) {}

  /// A node will be evaluated, once.
  void expect(const Node& node, const KernelWork& work);
  /// All are announced, and the first one begins.
  void begin() { since_ = Clock::now(); }
  /// The node has ended; those that were not announced, or ended before, are passed over.
  void did(const Node& node);

 private:
  using Clock = std::chrono::steady_clock;
  Told told_;
  Ran ran_;
  std::unordered_map<const Node*, KernelWork> open_;
  double operations_ = 0, bytes_ = 0;  ///< Of all open nodes.
  /// First guesses matter by their ratio alone: a byte takes as long as some multiplications.
  TwoRates rates_{1, kByteInMultiplications};
  static constexpr double kByteInMultiplications = 4;
  Clock::time_point since_ = Clock::now();
};

}  // namespace tenon
