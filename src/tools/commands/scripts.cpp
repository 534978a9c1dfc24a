// The subcommands that are programs of their own: `tenon exec` and `tenon worker`.
#include "tools/commands.h"
#include "tools/commands/command.h"

namespace tenon::tools {

int run_exec_command(std::span<const char* const> words) {
  return run_exec("trtexec", words);
}

int run_worker_command(std::span<const char* const> /*words*/) {
  return run_worker();
}

}  // namespace tenon::tools
