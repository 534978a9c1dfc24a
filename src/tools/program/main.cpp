#include <fcntl.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string_view>

#include "tools/commands.h"
#include "tools/commands/command.h"

namespace {

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

/// Where a standard stream is closed, the next file that is opened would take its number, and
/// output would go into it.
void open_closed_streams() {
  for (int stream = 0; stream < 3; ++stream)
    if (fcntl(stream, F_GETFD) == -1) open("/dev/null", O_RDWR);
}

/// The fallback: an exception that found no one to make an error of it, as where not even a name
/// has room.
[[noreturn]] void end() {
  std::fputs("[E] out of memory, or a fault of this program: it ends\n", stderr);
  std::fflush(stdout);
  _exit(1);
}

int run(std::span<const char* const> words) {
  if (!words.empty() && base_name(words[0]) == "trtexec") {
    return tenon::tools::run_exec(words[0], words.subspan(1));
  }
  return tenon::tools::run_command(words.empty() ? words : words.subspan(1));
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(end);
  open_closed_streams();
  // Files beyond the shell's limit of their size are errors like those of a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  return run({argv, static_cast<size_t>(argc)});
}
