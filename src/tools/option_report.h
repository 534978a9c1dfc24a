#pragma once

#include "tools/arguments.h"
#include "tools/console.h"

namespace tenon::tools {

/// The option echo: one block a group, one line an option. The build block is empty where a plan is
/// loaded.
void print_options(Console& console, const Arguments& arguments);

/// Warns of every option given that does nothing on this device; an error for the first that is
/// refused.
Status check_support(Console& console, const Arguments& arguments, bool on_cpu);

/// Everything that can be said of option values without a model: ranges, words of a fixed set, and
/// combinations.
Status check_values(const Arguments& arguments);

}  // namespace tenon::tools
