#pragma once

#include <algorithm>

#include "base/parallel.h"
#include "ir/graph.h"
#include "ops/structure.h"

namespace tenon {

/// Whether making or running the node's kernels calls objects of the application: a plugin, or
/// control flow around one. These need not be ready for more than one thread.
inline bool calls_application(const Node& node) {
  return node.is<Plugin>() || std::ranges::any_of(node.bodies, [](const auto& body) {
           return std::ranges::any_of(body->nodes(),
                                      [](const auto& inner) { return calls_application(*inner); });
         });
}

/// Calls f(0) to f(count - 1) on as many threads as there are, but where node(i) calls the
/// application on the caller's alone, one after the other.
inline void for_each_node_parallel(size_t count, FunctionRef<const Node&(size_t)> node,
                                   FunctionRef<void(size_t)> f) {
  for_each_parallel(count, helper_threads(), [&](size_t i) {
    if (!calls_application(node(i))) f(i);
  });
  for (size_t i = 0; i < count; ++i)
    if (calls_application(node(i))) f(i);
}

}  // namespace tenon
