#pragma once

#include <memory>

#include "api/builder_config.h"
#include "network/io_formats.h"
#include "network/network.h"
#include "quantizer/precision_budget.h"
#include "select/compile.h"

namespace tenon::api {

/// The network's graph, whose plugins have types that they take.
Result<std::unique_ptr<Graph>> ready_graph(network::Network& network, const BuilderConfig& config,
                                           Logger& logger);
/// Adds the profiles, of which plugins are told.
Status take_profiles(const BuilderConfig& config, CompileRequest& request);
/// Gives the graph and the profiles the inputs and outputs that are not linear.
Result<network::IoFormats> bind_formats(const BuilderConfig& config,
                                        const network::Network& network, CompileRequest& request);
/// The configuration's options for the passes, on the request's backend, with the precisions of
/// layers. Gives plugins operands in 16 bits where layers around them may have such. The layers
/// that a budget for precision keeps in f32.
Result<std::vector<KeptNode>> set_passes(const BuilderConfig& config,
                                         const network::Network& network, CompileRequest& request,
                                         Logger& logger);
/// How kernels are searched for.
void set_search(const BuilderConfig& config, SelectOptions& options);
/// Whether the plan keeps the network for refitting.
bool is_refittable(const BuilderConfig& config);

}  // namespace tenon::api
