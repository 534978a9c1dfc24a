#pragma once

/// Which call a callback belongs to, where the library calls back on a thread of its own.

#include "NvInferRuntimeBase.h"

namespace tenon {

/// Gives the calling thread a number, which every thread bears that the library starts for a call
/// of it. 0, the default, for none.
TENSORRTAPI void setCallNumber(uint64_t number) noexcept;

/// In a callback: the number of the thread whose call it belongs to. 0 where that has none, and on
/// threads that serve the calls of all.
TENSORRTAPI uint64_t callNumber() noexcept;

}  // namespace tenon
