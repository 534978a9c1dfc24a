#include <cstring>
#include <vector>

#include "api/optimization_profile.h"
#include "check/processor_reference.h"
#include "check/sample.h"
#include "network/convert.h"
#include "network/network.h"
#include "network/report.h"
#include "ops/table.h"
#include "quantizer/lowered_network.h"
#include "select/compile.h"
#include "tenon/precision.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

struct Lowered {
  DataType type;
  std::vector<std::string> kept;
};

/// By kernels where that is possible; the reference also takes data-dependent shapes.
Result<std::vector<Tensor>> outputs_of(const Graph& graph, const std::vector<Profile>& profiles,
                                       const std::vector<Tensor>& inputs) {
  auto outputs = evaluate_on_processor(graph, profiles, inputs);
  if (outputs.ok()) return outputs;
  return evaluate_graph(graph, inputs);
}

Status evaluate(network::Network& network, const api::OptimizationProfile& shapes,
                const void* const* inputs, const Lowered& lowered, IValueVisitor& visitor) {
  TENON_ASSIGN(const auto graph, network.finished_graph());
  std::vector<Profile> profiles = {shapes.profile()};
  TENON_TRY(apply_profiles(*graph, profiles));
  TENON_ASSIGN(std::vector<Tensor> tensors, sample_inputs(*graph, profiles[0]));
  for (size_t i = 0; inputs != nullptr && i < tensors.size(); ++i)
    std::memcpy(tensors[i].mutable_bytes(), inputs[i],
                static_cast<size_t>(tensors[i].byte_count()));
  std::vector<std::string> names;
  for (const Value* output : graph->outputs()) names.push_back(output->name);
  TENON_ASSIGN(const auto rounded, lowered_network(*graph, lowered.type, lowered.kept));
  TENON_ASSIGN(const std::vector<Tensor> outputs, outputs_of(*rounded, profiles, tensors));
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto type = network::to_public(outputs[i].type());
    const nvinfer1::Dims shape = network::to_dims(outputs[i].extents());
    if (type.has_value() && shape.nbDims >= 0)
      visitor.value(names[i].c_str(), *type, shape, outputs[i].bytes());
  }
  return {};
}

}  // namespace

TENON_EXPORT bool evaluateLowered(nvinfer1::INetworkDefinition& network,
                                  const nvinfer1::IOptimizationProfile& profile,
                                  const void* const* inputs, nvinfer1::DataType type,
                                  const char* const* kept, int32_t count, IValueVisitor& visitor,
                                  nvinfer1::ILogger& logger) noexcept {
  network::Reporter reporter(&logger);
  return reporter.guarded("evaluateLowered", false, [&] {
    using enum nvinfer1::DataType;
    auto* definition = dynamic_cast<network::Network*>(&network);
    const auto* shapes = dynamic_cast<const api::OptimizationProfile*>(&profile);
    const auto run = [&]() -> Status {
      if (definition == nullptr || shapes == nullptr)
        return user_error("the network and the profile must come from this library's builder");
      if (type != kHALF && type != kBF16 && type != kFLOAT)
        return user_error("evaluateLowered takes kHALF, kBF16 and kFLOAT");
      Lowered lowered{network::from_public(type), {}};
      if (kept != nullptr && count > 0) lowered.kept.assign(kept, kept + count);
      return evaluate(*definition, *shapes, inputs, lowered, visitor);
    };
    const Status status = run();
    if (!status.ok()) reporter.report(status.error());
    return status.ok();
  });
}

}  // namespace tenon
