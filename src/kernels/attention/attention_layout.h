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
  static constexpr int64_t kPadding = 16;  // Widest vector: rows are whole vectors.

  explicit Layout(const AttentionProblem& p) {
    q = p.query_block * round_up(p.size, kPadding);
    k = p.size * kKeyBlock;
    v = kKeyBlock * round_up(p.value_size, kPadding);
    scores = p.query_block * kKeyBlock;
    out = p.query_block * round_up(p.value_size, kPadding);
    total = q + k + v + scores + out;
  }
};

}  // namespace tenon::cpu::attention_detail
