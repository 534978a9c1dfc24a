#pragma once

#include <string>

#include "ir/operation.h"

namespace tenon {

/// Appends the operator with its attributes and bodies, without names: equal operations have equal
/// texts. Of tensors it has type and extents, not the contents.
void add_operation_text(std::string& out, const Operation& operation);

}  // namespace tenon
