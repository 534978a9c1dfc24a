#include "kernels/pointwise/launch_code.h"

#include "kernels/jit/sources.h"

namespace tenon {

Result<JitLaunch> make_loop_launch(const LoopCode& code, std::string name) {
  TENON_ASSIGN(const std::string_view prelude, device_file("jit/prelude.cuh"));
  TENON_ASSIGN(const std::string_view whole, device_file("pointwise/whole.cuh"));
  SourceText ahead;
  ahead.add_file(prelude);
  ahead.add_file(whole);
  JitLaunch launch;
  launch.name = std::move(name);
  launch.source = ahead;
  code.constants.add_exact_to(launch.source);
  launch.source.add(code.text);
  launch.open = code.constants.source(ahead, code.text);
  launch.grid[0] = code.blocks;
  launch.block[0] = code.threads;
  return launch;
}

}  // namespace tenon
