#pragma once

#include <vector>

#include "plan/graph_parts.h"
#include "runtime/kept_kernels.h"
#include "runtime/program.h"

namespace tenon {

/// One output of a run whose extents were not known before it.
struct DynamicOutput {
  Extents extents;
  DeviceBuffer buffer;  ///< Null when the bytes are an input's or a constant's.
  const void* bytes = nullptr;
};

/// Runs a graph with data-dependent shapes in parts (plan/graph_parts.h): stretches are lists of
/// steps like any other graph's, and a node that decides extents runs between them, where the
/// device has a kernel or bodies for it, else by the reference on the host, and binds the symbols
/// of its outputs for those that follow. Programs and kernels are kept between runs for extents
/// that repeat.
class DynamicRunner {
 public:
  /// `memory` serves all that a run needs.
  DynamicRunner(Backend backend, MemorySource memory, const Graph& graph)
      : backend_(std::move(backend)), memory_(std::move(memory)), graph_(graph) {}

  const Graph& graph() const { return graph_; }
  /// The same symbols each time, with any values.
  Result<std::vector<DynamicOutput>> run(ConstantStore& constants, const SymbolValues& symbols,
                                         std::span<void* const> inputs, Queue queue, int threads,
                                         StepTimes* times);

 private:
  struct Run;
  struct Part {
    GraphPart what;
    KeptKernels<Program> programs;     ///< Of a stretch.
    KeptKernels<SizedKernel> kernels;  ///< Of a deciding node.
  };
  Backend backend_;
  MemorySource memory_;
  const Graph& graph_;
  bool is_split_ = false;
  std::vector<Part> parts_;  ///< From the first run on.
  std::map<const Graph*, std::unique_ptr<DynamicRunner>> bodies_;
};

}  // namespace tenon
