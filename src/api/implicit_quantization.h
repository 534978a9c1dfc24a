#pragma once

#include "api/calibration.h"
#include "select/compile.h"

namespace tenon::api {

/// Where the build derives quantization from ranges (quantizes_implicitly), puts it into the
/// request's graph, around the layers that the application did not give another precision. Gives
/// why layers stay in floating point, by name. The request has its backend and its number of
/// threads.
Result<std::map<std::string, std::string>> quantize_by_ranges(const BuilderConfig& config,
                                                              const network::Network& network,
                                                              CompileRequest& request,
                                                              bool keep_weights, TimingCache& cache,
                                                              Logger& logger);

}  // namespace tenon::api
