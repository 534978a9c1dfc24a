#pragma once

#include "base/status.h"
#include "ir/graph.h"
#include "lower/step_list.h"

namespace tenon {

/// Whether a list can run as the steps of a graph: operands are there and as many as the nodes
/// have, buffers are written before they are read and used only while they last, and of two that
/// are in use at the same time one lies above the other, for any values of the symbols. An internal
/// error that names the step or the buffer where not. `ordered`, if given, was verified: buffers
/// that last and lie as its do are not compared again.
Status verify(const StepList& list, const Graph& graph, const StepList* ordered = nullptr);

}  // namespace tenon
