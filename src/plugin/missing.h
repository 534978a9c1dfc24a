#pragma once

#include <string>

#include "plugin/instance.h"

namespace tenon::plugin {

/// Behind a message that no creator answers for a plugin: " (...)" with the registered creators of
/// that name, or the way out where it is a plugin of TensorRT's (plugin/stock.def,
/// plugin/absent.def); empty where nothing is known about it.
std::string missing_hint(const Identity& identity);

}  // namespace tenon::plugin
