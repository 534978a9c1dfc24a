#pragma once

#include <memory>

#include "kernels/backend.h"
#include "kernels/constant_store.h"
#include "plan/concrete_graph.h"

namespace tenon {

/// A kernel for an if, loop or scan of which all extents are known: its bodies are programs, and
/// states stay on the device. Where the branch or the number of iterations is data, a small copy
/// reads it back, so that such a run cannot be captured into a graph; others can.
Result<std::unique_ptr<Kernel>> make_control_kernel(const Backend& backend,
                                                    ConstantStore& constants,
                                                    const ConcreteGraph& graph, const Node& node,
                                                    int threads);

/// One element of a bool or i64 scalar, waited for. An error, and no harm done, while the queue's
/// work is being captured. `node` is who asks.
Result<int64_t> read_back(Device& device, const Node& node, DataType type, const void* address,
                          Queue queue);

/// Iterations after which a loop without trip count is taken for endless.
inline constexpr int64_t kMostTrips = 10'000'000;

/// The error of a loop without end.
Error endless(const Node& node);

/// Ok, or the error of a loop whose run is to end (base/stop.h). For each iteration.
Status may_go_on(const Node& node);

}  // namespace tenon
