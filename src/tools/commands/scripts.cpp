// The subcommands that are programs of their own: `tenon exec`, `tenon worker` and `tenon
// nan-hunt`.
#include <string>
#include <vector>

#include "tools/commands.h"
#include "tools/commands/command.h"

namespace tenon::tools {

int run_exec_command(std::span<const char* const> words) {
  return run_exec("trtexec", words);
}

int run_worker_command(std::span<const char* const> /*words*/) {
  return run_worker();
}

int run_nan_hunt_command(std::span<const char* const> words) {
  return run_nan_hunt(words);
}

}  // namespace tenon::tools
