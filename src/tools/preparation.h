#pragma once

#include <memory>

#include "base/status.h"
#include "tenon/device.h"
#include "tools/arguments.h"
#include "tools/console.h"

namespace tenon::tools {

/// Steps before a build or a run.

/// Opens the libraries of --staticPlugins and --dynamicPlugins.
Status open_plugins(const Arguments& arguments, Console& console);

/// Whether the files of all flags that name an output can be written, before there is something to
/// write.
Status check_outputs(const Arguments& arguments);

/// The GPU to run on; null for the CPU. Why there is none goes to the verbose log.
std::unique_ptr<IGpu> find_gpu(const Arguments& arguments, Console& console);

}  // namespace tenon::tools
