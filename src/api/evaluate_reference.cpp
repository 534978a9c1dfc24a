#include <cstring>
#include <vector>

#include "api/optimization_profile.h"
#include "check/sample.h"
#include "network/convert.h"
#include "network/network.h"
#include "network/report.h"
#include "ops/table.h"
#include "select/compile.h"
#include "tenon/reference.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

void show(const Value& value, const Tensor& tensor, IValueVisitor& visitor) {
  const auto type = network::to_public(tensor.type());
  if (value.name.empty() || value.constant() != nullptr || !type.has_value()) return;
  const nvinfer1::Dims shape = network::to_dims(tensor.extents());
  if (shape.nbDims >= 0) visitor.value(value.name.c_str(), *type, shape, tensor.bytes());
}

Status evaluate(network::Network& network, const api::OptimizationProfile& shapes,
                const void* const* inputs, IValueVisitor& visitor) {
  TENON_ASSIGN(const auto graph, network.finished_graph());
  std::vector<Profile> profiles = {shapes.profile()};
  TENON_TRY(apply_profiles(*graph, profiles));
  TENON_ASSIGN(std::vector<Tensor> tensors, sample_inputs(*graph, profiles[0]));
  for (size_t i = 0; i < tensors.size(); ++i)
    std::memcpy(tensors[i].mutable_bytes(), inputs[i],
                static_cast<size_t>(tensors[i].byte_count()));
  const ValueObserver observer = [&](const Value& value, const Tensor& tensor) {
    if (value.producer() != nullptr) show(value, tensor, visitor);
  };
  TENON_ASSIGN(const auto outputs, evaluate_graph(*graph, tensors, observer));
  return {};
}

}  // namespace

TENON_EXPORT bool evaluateReference(nvinfer1::INetworkDefinition& network,
                                    const nvinfer1::IOptimizationProfile& profile,
                                    const void* const* inputs, IValueVisitor& visitor,
                                    nvinfer1::ILogger& logger) noexcept {
  network::Reporter reporter(&logger);
  return reporter.guarded("evaluateReference", false, [&] {
    auto* definition = dynamic_cast<network::Network*>(&network);
    const auto* shapes = dynamic_cast<const api::OptimizationProfile*>(&profile);
    const Status status =
        definition == nullptr || shapes == nullptr || inputs == nullptr
            ? user_error("the network and the profile must come from this library's builder")
            : evaluate(*definition, *shapes, inputs, visitor);
    if (!status.ok()) reporter.report(status.error());
    return status.ok();
  });
}

}  // namespace tenon
