#pragma once

#include <string>
#include <vector>

#include "passes/pass.h"

namespace tenon {

/// Two layers, one behind the other, that might share a kernel and do not.
struct ApartLayers {
  std::string producer, consumer, pass, reason;
};

/// Why scalar functions that follow another layer are layers of their own, for people who look for
/// fusions that did not happen. Asks what fuse_epilogue and fuse_pointwise ask, of the graph that
/// all passes have left.
std::vector<ApartLayers> explain_apart(const Graph& graph, const PassOptions& options,
                                       Logger& logger);

}  // namespace tenon
