#pragma once

#include <vector>

#include "runtime/kept_kernels.h"
#include "runtime/program.h"

namespace tenon {

/// One output of a run whose extents were not known before it.
struct DynamicOutput {
  Extents extents;
  DeviceBuffer buffer;  ///< Null when the bytes are an input's or a constant's.
  const void* bytes = nullptr;
};

/// Runs a graph node by node, for graphs with data-dependent shapes: a node whose extents cannot be
/// told runs where the device has a kernel or bodies for it, else the reference evaluates it on the
/// host, and binds the symbols of its outputs for those that follow. Kernels are kept between runs
/// for extents that repeat.
class DynamicRunner {
 public:
  /// `memory` serves all that a run needs.
  DynamicRunner(Backend backend, MemorySource memory, const Graph& graph)
      : backend_(std::move(backend)), memory_(std::move(memory)), graph_(graph) {}

  Result<std::vector<DynamicOutput>> run(ConstantStore& constants, const SymbolValues& symbols,
                                         std::span<void* const> inputs, Queue queue, int threads,
                                         StepTimes* times);

 private:
  struct Run;
  Backend backend_;
  MemorySource memory_;
  const Graph& graph_;
  std::map<const Node*, KeptKernels<Kernel>> kernels_;
  std::map<const Node*, KeptKernels<SizedKernel>> sized_kernels_;
  std::map<const Graph*, std::unique_ptr<DynamicRunner>> bodies_;
};

}  // namespace tenon
