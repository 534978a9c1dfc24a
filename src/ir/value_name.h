#pragma once

#include <string>

#include "ir/graph.h"

namespace tenon {

/// The value as messages call it: its name in quotes; without one, the node that gives it.
std::string quoted_name(const Value& value);

}  // namespace tenon
