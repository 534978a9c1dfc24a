#include <algorithm>

#include "network/convert.h"
#include "network/network.h"
#include "network/tensor.h"
#include "onnx/layer_hints.h"

namespace tenon::importer {
namespace {

void set_precision(const LayerHint& hint, network::Network& network, Logger& log) {
  if (!hint.precision) return;
  const Value* first = hint.outputs.empty() ? nullptr : hint.outputs[0];
  network::LayerCore* layer = first == nullptr ? nullptr : network.handle(first)->producer();
  const auto type = network::to_public(*hint.precision);
  if (layer != nullptr && type)
    layer->set_precision(*type);
  else
    log.info("node \"{}\": trt_layer_precision has no effect: {}", hint.node,
             type ? "its output is known without a layer" : "no layer computes in such numbers");
}

}  // namespace

void apply_hint(const LayerHint& hint, network::Network& network, Logger& log) {
  set_precision(hint, network, log);
  for (size_t i = 0; i < std::min(hint.least.size(), hint.outputs.size()); ++i)
    if (hint.outputs[i] != nullptr)
      network.handle(hint.outputs[i])
          ->setDynamicRange(static_cast<float>(hint.least[i]),
                            static_cast<float>(hint.greatest[i]));
  if (std::ranges::find(hint.places, "host") != hint.places.end())
    log.info("node \"{}\": trt_outputs_loc has no effect: engines choose where their tensors lie",
             hint.node);
}

}  // namespace tenon::importer
