#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>

#include "base/log.h"
#include "select/compile.h"

namespace tenon {

/// A network with layers in floating point, and with all of them in 8 bits.
struct LayerChoice {
  const Graph& plain;
  const Graph& quantized;
  std::set<std::string> layers;
  /// The network with all but these layers in 8 bits.
  std::function<Result<std::unique_ptr<Graph>>(const std::set<std::string>&)> without;
};

/// The layers that stay in floating point because the plan is faster so. Both networks are built
/// and timed, step by step; the time of a quantization counts for the layers that read it. Layers
/// that lose stay as they are where a third build shows that the whole gains from it, and all of
/// them where the network without quantization is the fastest. The cache keeps the answer; none
/// where nothing can be timed. `settings`: everything but the graph.
Result<std::set<std::string>> layers_faster_plain(const LayerChoice& choice,
                                                  const CompileRequest& settings,
                                                  TimingCache& cache, Logger& logger);

}  // namespace tenon
