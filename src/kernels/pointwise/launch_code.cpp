#include "kernels/pointwise/launch_code.h"

#include "kernels/jit/sources.h"

namespace tenon {

Result<JitLaunch> make_loop_launch(const LoopCode& code, std::string name) {
  TENON_ASSIGN(const std::string prelude, device_source("jit/prelude.cuh"));
  TENON_ASSIGN(const std::string whole, device_source("pointwise/whole.cuh"));
  JitLaunch launch;
  launch.name = std::move(name);
  launch.source = prelude + whole + code.constants.exact() + code.text;
  launch.open = code.constants.source(prelude + whole, code.text);
  launch.grid[0] = code.blocks;
  launch.block[0] = code.threads;
  return launch;
}

}  // namespace tenon
