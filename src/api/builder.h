#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "network/reported.h"
#include "plugin/logger_lease.h"

namespace tenon {
class PlanSink;
}
namespace tenon::network {
class Network;
}

namespace tenon::api {

class BuilderConfig;

/// The network's graph behind all passes of a build with the configuration, ahead of the choice of
/// kernels. Without profiles, extents stay open.
Result<std::unique_ptr<Graph>> optimized_graph(network::Network& network, BuilderConfig& config,
                                               network::Reporter& reporter);

using namespace nvinfer1;  // The surface's own names, in the classes that implement it.
using nvinfer1::DataType;
using nvinfer1::Dims;

/// IBuilder.
class Builder final : public network::Threaded<IBuilder> {
 public:
  explicit Builder(ILogger& logger)
      : Threaded(std::make_shared<network::Reporter>(&logger)), lease_(logger) {}

  bool platformHasFastFp16() const noexcept override;
  bool platformHasFastInt8() const noexcept override;
  int32_t getMaxDLABatchSize() const noexcept override;
  int32_t getNbDLACores() const noexcept override;
  void setGpuAllocator(IGpuAllocator* allocator) noexcept override;
  IBuilderConfig* createBuilderConfig() noexcept override;
  INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept override;
  IOptimizationProfile* createOptimizationProfile() noexcept override;
  void reset() noexcept override;
  bool platformHasTf32() const noexcept override;
  IHostMemory* buildSerializedNetwork(INetworkDefinition& network,
                                      IBuilderConfig& config) noexcept override;
  bool buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                      IStreamWriter& writer) noexcept override;
  IHostMemory* buildSerializedNetworkWithKernelText(INetworkDefinition& network,
                                                    IBuilderConfig& config,
                                                    IHostMemory*& kernelText) noexcept override;
  ICudaEngine* buildEngineWithConfig(INetworkDefinition& network,
                                     IBuilderConfig& config) noexcept override;
  bool isNetworkSupported(const INetworkDefinition& network,
                          const IBuilderConfig& config) const noexcept override;
  IPluginRegistry& getPluginRegistry() noexcept override;

 private:
  Status try_build(network::Network& network, const BuilderConfig& config);
  Status build(INetworkDefinition& network, IBuilderConfig& config, PlanSink& sink);

  plugin::LoggerLease lease_;
  IGpuAllocator* allocator_ = nullptr;
  std::vector<std::unique_ptr<IOptimizationProfile>> profiles_;
};

}  // namespace tenon::api
