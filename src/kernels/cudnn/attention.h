#pragma once

#include <optional>
#include <vector>

#include "kernels/cudnn/shape.h"
#include "kernels/tactic.h"

namespace tenon::cudnn {

/// Attention in cuDNN's terms: [batch, heads, length, size] with strides, whatever the order in
/// memory.
struct Attention {
  DataType type = DataType::kFloat16;
  Shape q, k, v, o;
  float scale = 1;
  bool causal = false;
  int64_t diagonal = 0;  ///< Row i sees the columns up to i + diagonal.
  bool has_mask = false;
  Shape mask;                               ///< Axes of one element are repeated.
  DataType mask_type = DataType::kFloat32;  ///< As cuDNN reads it: an addend.
  bool mask_is_bool = false;                ///< The operand is true where scores are kept.
};

enum AttentionInput { kQ, kK, kV, kMask };

/// Fails with the reason why cuDNN does not take the problem.
Result<Attention> describe_attention(const Problem& problem);

struct AttentionGraph {
  Graph graph;
  TensorId q = 0, k = 0, v = 0, mask = -1, o = 0;
};
Result<AttentionGraph> build_graph(const Api& api, cudnnHandle_t handle,
                                   const Attention& attention);

}  // namespace tenon::cudnn
