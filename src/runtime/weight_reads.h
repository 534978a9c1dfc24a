#pragma once

#include <cstddef>
#include <vector>

#include "lower/lower.h"
#include "runtime/weight_store.h"

namespace tenon {

/// A large constant that a step reads, and where it is.
struct WeightRead {
  int step = 0, operand = 0;
  bool is_own = false;  ///< As StepLoad::is_own.
  size_t bytes = 0;
  const Tensor* tensor = nullptr;  ///< Null: a block of the kernel's.
  const void* source = nullptr;    ///< As WeightStore::find().
  /// Bytes of it that the step reads at most.
  size_t read_bytes = 0;
  const void* address = nullptr;  ///< For kernels; null: it is copied from `host` for each run.
  const void* host = nullptr;
};

/// Places the weights of these steps: on the device as far as the budget goes, the others on the
/// host. Streamed are first those of which a step reads a part only, which it does over the link,
/// then such as lie evenly among the steps, so that copies run while others compute.
Result<std::vector<WeightRead>> place_weights(const ConcreteGraph& graph,
                                              const std::vector<MadeStep>& made,
                                              WeightStore& store);

/// Those of them that are copied.
std::vector<StreamedWeight> streamed_of(const std::vector<WeightRead>& reads);

}  // namespace tenon
