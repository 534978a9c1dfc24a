#pragma once

#include "base/log.h"
#include "base/status.h"
#include "kernels/backend.h"
#include "plan/plan.h"

namespace tenon {

/// Gives a plan for a GPU the device code of the kernels that it runs, those of its layers and of
/// its bodies: code made for each of the shapes of plan_points(), and for those between them code
/// that takes the extents of slowest axes as arguments, where kernels have such. What needs no code
/// of ours, and what only data decides, is left out. Code that the kernel cache has is not compiled
/// again. The backend's constants collect the code meanwhile; no kernel may be made by others.
Status collect_code(Plan& plan, const Backend& backend, Logger& logger);

}  // namespace tenon
