#pragma once

#include "kernels/jit/plan.h"
#include "kernels/pointwise/region_code.h"

namespace tenon {

/// A launch of that loop: prelude and rules of arithmetic in front of the code. The arguments are
/// the caller's to add, in the order of LoopCode::parameters and then the outputs.
Result<JitLaunch> make_loop_launch(const LoopCode& code, std::string name);

}  // namespace tenon
