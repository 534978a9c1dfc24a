#pragma once

#include <span>

#include "network/layer.h"
#include "tenon/recurrence.h"
#include "tenon/scatter.h"

namespace tenon::network {

/// Layers and settings of layers that TensorRT's classes lack, as include/tenon has them.
ILayer* add_recurrence(Network& network, RecurrentCell cell, std::span<ITensor* const> operands);
bool set_scatter_update(nvinfer1::IScatterLayer& layer, ScatterUpdate update);

}  // namespace tenon::network
