#pragma once

#include <span>
#include <vector>

#include "kernels/tactic.h"
#include "plan/concrete_graph.h"

namespace tenon {

/// A step of a run, and whether its kernel walks().
struct WalkingStep {
  const Node* node = nullptr;  ///< Null: a copy.
  bool walks = false;
};

/// How the steps of a run go through memory that is larger than caches: each that can from where
/// the one ahead has ended, and results that nothing reads again do not stay there. For steps one
/// behind the other; of others, and of bodies that run again, it is no more than a hint.
std::vector<Walk> plan_walks(const ConcreteGraph& graph, std::span<const WalkingStep> steps);

}  // namespace tenon
