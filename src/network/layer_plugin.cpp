// Plugin layers.
#include "network/network.h"

namespace tenon::network {

IPluginV2Layer* Network::addPluginV2(ITensor* const*, int32_t, IPluginV2&) noexcept {
  reporter_->report(unsupported("addPluginV2 is not available yet"));
  return nullptr;
}

IPluginV3Layer* Network::addPluginV3(ITensor* const*, int32_t, ITensor* const*, int32_t,
                                     IPluginV3&) noexcept {
  reporter_->report(unsupported("addPluginV3 is not available yet"));
  return nullptr;
}

}  // namespace tenon::network
