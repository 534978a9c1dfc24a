#pragma once

#include <vector>

#include "kernels/jit/tactic.h"
#include "ops/gate_activations.h"
#include "ops/nn.h"

/// Shared by the tactics of recurrences (LSTM, GRU and plain ones) on NVIDIA GPUs: the input's
/// products come from one kernel, the steps from others.
namespace tenon::recurrence {

struct Description {
  const Rnn* op = nullptr;
  DataType type = DataType::kFloat32;
  int64_t steps = 1, batch = 1, input = 1, hidden = 1, directions = 1, gates = 4;
  std::vector<GateActivation> activations;
  int64_t products_bytes() const { return steps * batch * directions * gates * hidden * 4; }
};

/// A GRU's reset acts on the state before its product, or (linear_before_reset) behind it.
enum class Reset { kBehind, kBefore };

Result<Description> describe(const Problem& problem, Reset reset = Reset::kBehind);

/// Constants of rnn/cell.cuh from the planner.
void add_constants(KernelCode& code, const Problem& problem, const Description& d);

/// Bytes of a part of the workspace.
int64_t padded(int64_t bytes);

JitArgument optional_input(const Problem& problem, int index);
JitArgument optional_output(const Problem& problem, size_t index);

/// A plan whose first launch makes the products of all inputs with W at the beginning of the
/// workspace: floats, a row for each step and element of the batch.
Result<JitPlan> begin_plan(const Problem& problem, const Description& d);

}  // namespace tenon::recurrence
