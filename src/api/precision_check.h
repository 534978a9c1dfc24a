#pragma once

#include "api/builder_config.h"
#include "quantizer/precision_budget.h"
#include "select/compile.h"

namespace tenon::api {

/// The application's precisions for single layers, where precisions are constraints: layers wanted
/// in 32 bits keep them, layers wanted in one of a GPU's two 16-bit types get it, layers wanted in
/// floating point multiply no 8-bit numbers, and types that the configuration does not allow are
/// refused.
Status apply_precisions(const BuilderConfig& config, const nvinfer1::INetworkDefinition& network,
                        CompileRequest& request, Logger& logger);

/// Where the configuration has a budget for precision (include/tenon/precision.h) and lets layers
/// compute in 16 bits: leaves those in 32 bits that the budget does not allow, and gives them.
std::vector<KeptNode> keep_within_budget(const BuilderConfig& config, CompileRequest& request,
                                         Logger& logger);

/// Where it has one for quantization and allows 8 bits: lets those layers read numbers ahead of
/// QuantizeLinear and DequantizeLinear that the budget does not let read behind, and gives them.
std::vector<KeptNode> keep_within_quantization_budget(const BuilderConfig& config,
                                                      CompileRequest& request, Logger& logger);

}  // namespace tenon::api
