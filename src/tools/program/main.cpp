#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string_view>

#include "tools/commands.h"

namespace {

constexpr const char* kUsage =
    "usage: tenon exec [options]   build a plan from an ONNX model or load one, run it, report "
    "times\n"
    "       tenon nan-hunt [options]  name the first node of a model that makes a NaN or an "
    "infinity\n"
    "       tenon quantize [options]  give a model in 8- or 4-bit numbers, calibrated by data\n"
    "       tenon worker           the same by lines of JSON on standard input, for scripts\n"
    "\n"
    "`trtexec` is `tenon exec` by another name; `tenon exec --help` lists its options.\n";

std::string_view base_name(std::string_view path) {
  return path.substr(path.find_last_of('/') + 1);
}

/// Where a standard stream is closed, the next file that is opened would take its number, and what
/// is printed would go into it.
void open_closed_streams() {
  for (int stream = 0; stream < 3; ++stream)
    if (fcntl(stream, F_GETFD) == -1) open("/dev/null", O_RDWR);
}

/// The last resort: an exception that found no one to make an error of it, as where not even a name
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
  const std::string_view command = words.size() > 1 ? words[1] : "";
  if (command == "exec") return tenon::tools::run_exec("trtexec", words.subspan(2));
  if (command == "nan-hunt") return tenon::tools::run_nan_hunt(words.subspan(2));
  if (command == "quantize") return tenon::tools::run_quantize(words.subspan(2));
  if (command == "worker") return tenon::tools::run_worker();
  std::fputs(kUsage, command.empty() || command == "--help" || command == "-h" ? stdout : stderr);
  return command.empty() || command == "--help" || command == "-h" ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(end);
  open_closed_streams();
  return run({argv, static_cast<size_t>(argc)});
}
