#pragma once

#include <cstdint>

#include "kernels/attention/attention.h"

namespace tenon::cpu::attention_detail {

inline int64_t round_up(int64_t n, int64_t to) {
  return (n + to - 1) / to * to;
}

/// Floats of each part of a thread's scratch.
struct Layout {
  int64_t q, k, v, scores, out, total;
  static constexpr int64_t kPadding =
      32;  // Widest tile: rows are read and written a whole tile at a time.

  explicit Layout(const AttentionProblem& p) {
    q = kQueryBlock * round_up(p.size, kPadding);
    k = p.size * kKeyBlock;
    v = kKeyBlock * round_up(p.value_size, kPadding);
    scores = kQueryBlock * kKeyBlock;
    out = kQueryBlock * round_up(p.value_size, kPadding);
    total = q + k + v + scores + out;
  }
};

}  // namespace tenon::cpu::attention_detail
