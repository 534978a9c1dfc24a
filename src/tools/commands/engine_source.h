#pragma once

#include <memory>
#include <string>

#include "NvInfer.h"
#include "tools/commands/command_line.h"
#include "tools/engine_file.h"

namespace tenon::tools {

/// A model's or plan's way to an engine, as `build`, `run` and `bench` share it.

/// The command line's flags with its first word among them, as --onnx or --loadEngine, checked as
/// far as they can be without the file; plugins are opened. Without `with_file` the first word
/// stays out.
Result<Arguments> prepare(Session& session, const CommandLine& line, bool with_file = true);

/// Whether the file begins as a plan does.
bool is_plan(const std::string& file);

/// "AMD EPYC 7B13, 2 cores" or "NVIDIA H200, driver 12.8, ...".
std::string device_text(const Arguments& arguments, Console& console);

/// Builds on the page, and saves where --saveEngine says. `log`: a file for BuildPage::keep_log();
/// empty for none.
Result<std::unique_ptr<nvinfer1::IHostMemory>> build_on_page(Session& session,
                                                             const Arguments& arguments,
                                                             const std::string& log = "");

/// The engine of the plan that the arguments name, or of one that is built on the page first.
Result<LoadedEngine> engine_of(Session& session, const Arguments& arguments);

}  // namespace tenon::tools
