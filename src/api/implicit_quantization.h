#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "api/calibration.h"
#include "select/compile.h"

namespace tenon::api {

/// Measured, and no mistake of the application.
inline constexpr auto kFasterReason = "floating point is faster";

struct ImplicitQuantization {
  bool tried = false;  ///< Whether the network is one that ranges can quantize.
  /// Why layers stay in floating point, by name.
  std::map<std::string, std::string> reasons;
  std::string_view others;  ///< Why those without a reason of their own do; a literal.
  /// The network before; null where none of its layers is quantized.
  std::shared_ptr<const Graph> unquantized;
  double seconds = 0;  ///< That it took.
};

/// Where the build derives quantization from ranges (quantizes_implicitly), puts it into the
/// request's graph, around the layers that the application did not give another precision. The
/// request has its backend and its number of threads.
Result<ImplicitQuantization> quantize_by_ranges(const BuilderConfig& config,
                                                const network::Network& network,
                                                CompileRequest& request, bool keep_weights,
                                                TimingCache& cache, Logger& logger);

}  // namespace tenon::api
