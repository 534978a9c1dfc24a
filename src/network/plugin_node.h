#pragma once

#include <vector>

#include "base/status.h"
#include "network/emitter.h"
#include "plugin/instance.h"

namespace tenon::network {

/// Adds a plugin that reads the first `inputs` operands; those after them are its shape inputs.
/// Operands whose types it does not take are converted, and its results come back in theirs. An
/// error when it refuses all types, or as a layer.
Result<std::vector<Value*>> add_plugin(Emitter& e, plugin::Instance& instance,
                                       std::vector<Value*> operands, int32_t inputs);

}  // namespace tenon::network
