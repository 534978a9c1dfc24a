#pragma once

#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon::network {

class ConditionalHandle;
class LoopHandle;
class TensorHandle;

/// The loops and conditionals of a network. Their layers lie flat among the others, with stand-ins
/// (graph inputs of their own) for values that cross the boundary; a finished graph holds loop and
/// if nodes with bodies.
class ControlFlow {
 public:
  ControlFlow();
  ~ControlFlow();

  std::vector<std::unique_ptr<LoopHandle>> loops;
  std::vector<std::unique_ptr<ConditionalHandle>> conditionals;

  /// Moves the layers inside loops and conditionals into bodies, innermost first. `mapping` leads
  /// from the network's values to the graph's; `inputs` are the inputs that stay.
  Status assemble(Graph& graph, std::span<const std::pair<const Value*, Value*>> mapping,
                  std::span<TensorHandle* const> inputs) const;
};

}  // namespace tenon::network
