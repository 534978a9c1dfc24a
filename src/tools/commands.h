#pragma once

#include <span>
#include <string_view>

namespace tenon::tools {

/// The commands of the program. `words` are the arguments after the command's name; the result is
/// the exit status.

/// trtexec: `program` is what was typed for it, for the banner.
int run_exec(std::string_view program, std::span<const char* const> words);

/// Builds, loads and runs engines as lines of JSON on standard input tell it; answers each with one
/// line. For scripts that measure or compare several libraries turn by turn.
int run_worker();

/// Names the first node of a model that makes a NaN or an infinity, in each precision. Exit status
/// 2 where there is one.
int run_nan_hunt(std::span<const char* const> words);

/// Gives a quantized copy of an ONNX model.
int run_quantize(std::span<const char* const> words);

}  // namespace tenon::tools
