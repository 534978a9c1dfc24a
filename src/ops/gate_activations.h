#pragma once

#include <string_view>
#include <vector>

#include "base/status.h"
#include "ops/nn.h"
#include "ops/pointwise_function.h"

namespace tenon {

/// Activations of a recurrent cell's gates.
struct GateActivation {
  PointwiseFunction function = PointwiseFunction::k_tanh;
  double alpha = 0, beta = 0;
};

/// Gates of a cell: 4, 3 or 1; each has a row of W and R for every hidden unit.
int gates_of(const Rnn& op);
/// 2 for bidirectional ones.
int64_t directions_of(const Rnn& op);
/// Activations of one direction: 3, 2 or 1.
int activations_of(const Rnn& op);

/// The name of an activation as ONNX writes it; unknown ones as they are.
std::string_view spelled_as_onnx(std::string_view activation);

/// The activations of all directions, defaults filled in. Alphas and betas are handed to the
/// activations in order. Fails on unknown names and on a wrong number of them.
Result<std::vector<GateActivation>> gate_activations(const Rnn& op);

}  // namespace tenon
