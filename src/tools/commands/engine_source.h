#pragma once

#include <memory>
#include <string>

#include "NvInfer.h"
#include "tools/commands/command_line.h"
#include "tools/engine_file.h"
#include "tools/report/json.h"

namespace tenon::tools {

/// A model's or plan's way to an engine, as `build`, `run` and `bench` share it.

/// Whether a subcommand writes the reports of --html and its siblings.
enum class Reports { kRefused, kWritten };

/// The command line's flags with its first word among them, as --onnx or --loadEngine, checked as
/// far as they can be without the file; plugins are opened. Without `with_file` the first word
/// stays out. Flags that ask for a report are refused unless the subcommand writes one.
Result<Arguments> prepare(Session& session, const CommandLine& line, bool with_file = true,
                          Reports reports = Reports::kRefused);

/// Flags that another run of the command needs as well, each behind a space.
std::string repeated_flags(const CommandLine& line);

/// Whether the file begins as a plan does.
bool is_plan(const std::string& file);
/// The same, or its name is a plan's: of a file that is not there, is empty or was cut short.
bool is_meant_as_plan(const std::string& file);
/// An error where a subcommand that takes models is given a plan.
Status expect_model(Session& session, std::string_view command, const std::string& file);

/// "AMD EPYC 7B13, 2 cores" or "NVIDIA H200, driver 12.8, ...".
std::string device_text(const Arguments& arguments, Console& console);

/// Builds on the page, and saves where --saveEngine says. `log`: a file for BuildPage::keep_log();
/// empty for none. `report`: receives what a report tells of the build; null for none.
Result<PlanSource> build_on_page(Session& session, const Arguments& arguments,
                                 const std::string& log = "", Json* report = nullptr);

/// The engine of the plan that the arguments name, or of one that is built on the page first.
Result<LoadedEngine> engine_of(Session& session, const Arguments& arguments,
                               Json* report = nullptr);

}  // namespace tenon::tools
