#pragma once

#include "api/builder_config.h"
#include "base/status.h"

namespace tenon::api {

/// Refuses settings that cannot be honoured, with the reason; warns of those without effect.
Status check_config(BuilderConfig& config, const nvinfer1::INetworkDefinition& network,
                    Logger& logger);

}  // namespace tenon::api
