#pragma once

#include <span>

#include "kernels/tactic.h"

namespace tenon {

/// All tactics of a kind of device, for kernels that need those of other operations; none of a GPU
/// before one was opened.
std::span<const Tactic> tactics_of(DeviceKind kind);

}  // namespace tenon
