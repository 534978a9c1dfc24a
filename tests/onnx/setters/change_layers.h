#pragma once

#include "network/network.h"

namespace tenon::onnx_suite {

/// Calls every setter of every layer and tensor with its getter's value: nothing may change.
void set_what_is_set(network::Network& network);

/// Calls every setter of every layer with other values, has types made (errors are logged and
/// expected: values may not fit), and sets the old values again.
void change_and_restore(network::Network& network);

}  // namespace tenon::onnx_suite
