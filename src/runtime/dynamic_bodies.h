#pragma once

#include "kernels/backend.h"
#include "kernels/constant_store.h"
#include "runtime/dynamic_run.h"

namespace tenon {

/// State for the bodies of a run's control flow.
struct BodyRun {
  Device& device;
  const MemorySource& memory;
  ConstantStore& constants;
  const SymbolValues& symbols;  ///< Of the graph around them.
  Queue queue;
  int threads;
  /// The runner of a body, which lasts as long as that of the graph around it.
  std::function<DynamicRunner&(const Graph& body)> runner;
};

/// A dense operand on the device.
struct BodyOperand {
  bool present = false;
  const void* bytes = nullptr;
  Extents extents;
};

/// Runs an if, loop or scan with data-dependent shapes, on the device: conditions come back by
/// small copies, results of iterations stay there and are stacked at the end. All results have
/// buffers of their own.
Result<std::vector<DynamicOutput>> run_bodies(const BodyRun& run, const Node& node,
                                              std::span<const BodyOperand> operands);

}  // namespace tenon
