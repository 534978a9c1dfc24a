// The subcommands that are programs of their own: `tenon exec` and `tenon worker`.
#include "tools/commands.h"
#include "tools/commands/command.h"
#include "tools/commands/command_line.h"

namespace tenon::tools {
namespace {

constexpr Example kExamples[] = {
    {"tenon worker < requests.jsonl", "an answer for each line"},
    {R"({"command":"build","name":"a","onnx":"a.onnx"})", "such a line"},
};

constexpr Usage kUsage = {
    .command = "worker",
    .words = "< REQUESTS",
    .purpose =
        "Builds, loads and runs engines as lines of JSON on standard input tell it, and answers "
        "each with one line, until the input ends.",
    .examples = kExamples,
    .flags = {},
    .least_words = 0,
    .most_words = 0,
};

}  // namespace

int run_exec_command(std::span<const char* const> words) {
  return run_exec("trtexec", words);
}

int run_worker_command(std::span<const char* const> words) {
  return run_with_line(kUsage, words, [](Session&, const CommandLine&) -> Status {
    run_worker();
    return {};
  });
}

}  // namespace tenon::tools
