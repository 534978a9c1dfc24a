// Layers that TensorRT's classes lack (tenon/recurrence.h, tenon/scatter.h).
#include "network/own_layers.h"

#include "network/network.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {

TENON_EXPORT nvinfer1::ILayer* addRecurrence(nvinfer1::INetworkDefinition& network,
                                             RecurrentCell cell, nvinfer1::ITensor* const* operands,
                                             int32_t count) noexcept {
  auto* own = dynamic_cast<network::Network*>(&network);
  if (own == nullptr || operands == nullptr || count < 0) return nullptr;
  return network::add_recurrence(*own, cell, {operands, static_cast<size_t>(count)});
}

TENON_EXPORT bool setScatterUpdate(nvinfer1::IScatterLayer& layer, ScatterUpdate update) noexcept {
  return network::set_scatter_update(layer, update);
}

}  // namespace tenon
