#pragma once

#include <span>

#include "base/status.h"
#include "ir/graph.h"
#include "ops/structure.h"
#include "plugin/instance.h"

namespace tenon::network {

/// The operator that a plugin is for these operands: it reads the first `inputs` of them, those
/// after them are its shape inputs. An error when the plugin refuses them.
Result<Plugin> describe_plugin(plugin::Instance& instance, std::span<Value* const> operands,
                               int32_t inputs);

}  // namespace tenon::network
