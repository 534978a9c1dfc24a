#pragma once

#include <span>

#include "plan/points.h"
#include "select/select.h"

namespace tenon {

/// A layer and the kernels that it may have.
struct LayerChoices {
  const Node& node;
  const ConcreteGraph& graph;             ///< With the layer, under the usual shapes.
  std::span<const Candidate> candidates;  ///< All of them fit; ours comes first.
};

/// The application's say in the choice of kernels (SelectOptions::chooser).
class KernelChooser {
 public:
  virtual ~KernelChooser() = default;
  /// All layers are asked for from here on: once in a build, and again where the build's self-check
  /// found a mistake and another plan is made. `ends` are those of the first profile.
  virtual void begin(ProfileEnds ends) = 0;
  /// The place of the layer's kernel among the candidates; an error ends the build.
  virtual Result<size_t> choose(const LayerChoices& choices) = 0;
};

}  // namespace tenon
