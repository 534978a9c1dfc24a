#pragma once

#include "network/network.h"

namespace tenon::network {

/// Whether shapes inside depend on the contents of this input, as far as the network goes now.
bool decides_shapes(Network& network, const TensorHandle& input);

}  // namespace tenon::network
