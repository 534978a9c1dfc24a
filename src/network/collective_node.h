#pragma once

#include "network/emitter.h"
#include "plugin/collective.h"

namespace tenon::network {

/// The result of a collective operation; the input itself where a group has one rank.
Value* collective(Emitter& e, Value* input, plugin::Collective operation);

}  // namespace tenon::network
