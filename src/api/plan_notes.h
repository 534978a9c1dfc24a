#pragma once

#include "api/builder_config.h"
#include "network/io_formats.h"
#include "network/network.h"
#include "plan/plan.h"

namespace tenon::api {

/// Notes in the plan's settings all that engines are asked for, and puts the plugin libraries that
/// the configuration names into the plan.
Status note_settings(BuilderConfig& config, const network::Network& network,
                     const network::IoFormats& formats, Plan& plan);
/// Tells of the layers that round by more than sums of products do.
void report_numerics(const Graph& graph, Logger& logger);

}  // namespace tenon::api
