#pragma once

#include "kernels/backend.h"
#include "plan/plan.h"

namespace tenon {

/// Notes among the plan's settings the rounding, memory and origins of kernels that the backend
/// allows, so that engines make kernels like the ones that the plan was built with.
void note_kernel_settings(const Backend& backend, Plan& plan);
/// Has the backend allow the same as such a plan notes.
Status take_kernel_settings(const Plan& plan, Backend& backend);

}  // namespace tenon
