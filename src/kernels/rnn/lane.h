#pragma once

#include <atomic>
#include <thread>

#include "kernels/rnn/rnn.h"

namespace tenon::cpu {

/// How far the threads are that share a lane: each phase of each step is cut into pieces that are
/// claimed one by one. A thread prefers its own pieces, whose weights its cache holds, and takes
/// those of a thread that is not there.
struct LaneProgress {
  static constexpr int kMaxPieces = 32;
  std::atomic<int32_t> claimed[kMaxPieces];  ///< Phases for which the piece has been claimed.
  std::atomic<int64_t> done;                 ///< Pieces that are finished, over all phases.

  void reset() {
    for (auto& claim : claimed) claim.store(0, std::memory_order_relaxed);
    done.store(0, std::memory_order_release);
  }
  bool claim(int piece, int32_t phase) {
    int32_t expected = phase;
    return claimed[piece].load(std::memory_order_relaxed) == phase &&
           claimed[piece].compare_exchange_strong(expected, phase + 1, std::memory_order_acq_rel);
  }
  void wait(int64_t pieces) const {
    for (int spins = 0; done.load(std::memory_order_acquire) < pieces; ++spins)
      if (spins > 2000) std::this_thread::yield();  // Who holds the piece may need this very core.
  }
};

}  // namespace tenon::cpu
