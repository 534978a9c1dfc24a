#pragma once

#include <span>
#include <string_view>

namespace tenon::tools {

/// The commands of the program. `words` are the arguments after the command's name; the result is
/// the exit status.

/// trtexec: `program` is its name as typed, for the banner.
int run_exec(std::string_view program, std::span<const char* const> words);

/// Builds, loads and runs engines as lines of JSON on standard input tell it; answers each with one
/// line. For scripts that measure or compare several libraries turn by turn.
int run_worker();

/// Gives a quantized copy of an ONNX model.
int run_quantize(std::span<const char* const> words);

}  // namespace tenon::tools
