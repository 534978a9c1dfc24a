#pragma once

#include "base/status.h"
#include "plan/plan.h"

namespace tenon {

/// Moves operators, kernels' names and packed constants of the graph and forms of `from` to the
/// nodes of those of `to`, which keep their addresses. Fails, and changes nothing, when they differ
/// in more than these.
Status transplant(Plan& to, Plan& from);

}  // namespace tenon
