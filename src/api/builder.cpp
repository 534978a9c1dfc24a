#include "api/builder.h"

#include <algorithm>

#include "api/build.h"
#include "api/build_backend.h"
#include "api/build_request.h"
#include "api/builder_config.h"
#include "api/config_check.h"
#include "api/host_memory.h"
#include "api/integer_plugins.h"
#include "api/optimization_profile.h"
#include "api/plan_sinks.h"
#include "api/runtime.h"
#include "base/guard.h"
#include "device/cpu/isa.h"
#include "network/network.h"

namespace tenon::api {

using network::Network;

Result<std::unique_ptr<Graph>> optimized_graph(Network& network, BuilderConfig& config,
                                               network::Reporter& reporter) {
  TENON_TRY(check_config(config, network, reporter));
  CompileRequest request;
  TENON_ASSIGN(request.graph, network.finished_graph());
  TENON_TRY(settle_integer_plugins(*request.graph, config, network, reporter));
  TENON_TRY(take_profiles(config, request));
  FamilyBuild family;
  TENON_ASSIGN(request.backend, chosen_backend(config, 0, family, reporter));
  TENON_TRY(set_passes(config, network, request, reporter));
  if (!request.profiles.empty()) TENON_TRY(apply_profiles(*request.graph, request.profiles));
  TENON_ASSIGN(const auto applied, run_passes(*request.graph, request.passes, reporter));
  for (const std::string& line : applied) reporter.verbose("{}", line);
  return std::move(request.graph);
}

Status Builder::build(INetworkDefinition& network, IBuilderConfig& config, PlanSink& sink) {
  auto* definition = dynamic_cast<Network*>(&network);
  auto* settings = dynamic_cast<BuilderConfig*>(&config);
  if (definition == nullptr || settings == nullptr)
    return user_error("the network and the configuration must come from this library's builder");
  TENON_TRY(check_config(*settings, *definition, *reporter_));
  return Build(*definition, *settings, reporter_, allocator_, max_threads_).run(sink);
}

IHostMemory* Builder::buildSerializedNetwork(INetworkDefinition& network,
                                             IBuilderConfig& config) noexcept {
  return reporter_->guarded("buildSerializedNetwork", nullptr, [&]() -> IHostMemory* {
    PlanInMemory plan;
    const Status built = build(network, config, plan);
    if (built.ok()) return new HostMemory(std::move(plan.file));
    reporter_->report(built.error());
    return nullptr;
  });
}

IHostMemory* Builder::buildSerializedNetworkWithKernelText(INetworkDefinition& network,
                                                           IBuilderConfig& config,
                                                           IHostMemory*& kernelText) noexcept {
  kernelText = nullptr;
  return buildSerializedNetwork(network, config);
}

bool Builder::buildSerializedNetworkToStream(INetworkDefinition& network, IBuilderConfig& config,
                                             IStreamWriter& writer) noexcept {
  return reporter_->guarded("buildSerializedNetworkToStream", false, [&] {
    StreamSink sink(writer);
    Status built = build(network, config, sink);
    if (built.ok()) built = sink.end();
    if (!built.ok()) reporter_->report(built.error());
    return built.ok();
  });
}

ICudaEngine* Builder::buildEngineWithConfig(INetworkDefinition& network,
                                            IBuilderConfig& config) noexcept {
  const std::unique_ptr<IHostMemory> plan(buildSerializedNetwork(network, config));
  if (plan == nullptr) return nullptr;
  return reporter_->guarded("buildEngineWithConfig", nullptr, [&] {
    Runtime runtime(*reporter_->logger());
    runtime.setGpuAllocator(allocator_);
    runtime.setErrorRecorder(reporter_->recorder());
    if (const auto* settings = dynamic_cast<const BuilderConfig*>(&config))
      runtime.set_device(settings->device());
    return runtime.deserializeCudaEngine(plan->data(), plan->size());
  });
}

/// A build without optimization, of which only the end is of interest.
Status Builder::try_build(Network& network, const BuilderConfig& config) {
  TENON_TRY(check_config(const_cast<BuilderConfig&>(config), network, *reporter_));
  CompileRequest request;
  TENON_ASSIGN(request.graph, ready_graph(network, config, *reporter_));
  TENON_TRY(take_profiles(config, request));
  TENON_TRY(bind_formats(config, network, request));
  FamilyBuild family;
  TENON_ASSIGN(request.backend, chosen_backend(config, max_threads_, family, *reporter_));
  TENON_TRY(request.backend.device->activate());
  request.passes = pass_options_for(*request.backend.device);
  request.passes.level = 0;
  request.select.level = 0;
  TimingCache nothing;
  NullLogger quiet;
  TENON_ASSIGN(const Plan plan, compile(std::move(request), nothing, quiet));
  return {};
}

bool Builder::isNetworkSupported(const INetworkDefinition& network,
                                 const IBuilderConfig& config) const noexcept {
  // The surface promises to change nothing; types of layers are worked out all the same.
  auto* definition = dynamic_cast<Network*>(const_cast<INetworkDefinition*>(&network));
  const auto* settings = dynamic_cast<const BuilderConfig*>(&config);
  const Status supported =
      definition == nullptr || settings == nullptr
          ? user_error("the network and the configuration must come from this library's builder")
          : guarded("isNetworkSupported",
                    [&] { return const_cast<Builder*>(this)->try_build(*definition, *settings); });
  if (!supported.ok()) reporter_->report(supported.error());
  return supported.ok();
}

IBuilderConfig* Builder::createBuilderConfig() noexcept {
  return reporter_->guarded("createBuilderConfig", nullptr,
                            [&]() -> IBuilderConfig* { return new BuilderConfig(reporter_); });
}
INetworkDefinition* Builder::createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept {
  if (flags >> nvinfer1::EnumMax<nvinfer1::NetworkDefinitionCreationFlag>() != 0) {
    reporter_->report(user_error(
        "createNetworkV2: the flags {:#x} hold bits of no NetworkDefinitionCreationFlag", flags));
    return nullptr;
  }
  return reporter_->guarded("createNetworkV2", nullptr, [&]() -> INetworkDefinition* {
    return new Network(*this, reporter_, flags);
  });
}

/// Profiles belong to the builder that made them, as the surface has it; they are few and small.
IOptimizationProfile* Builder::createOptimizationProfile() noexcept {
  return reporter_->guarded("createOptimizationProfile", nullptr, [&]() -> IOptimizationProfile* {
    profiles_.push_back(std::make_unique<OptimizationProfile>(reporter_));
    return profiles_.back().get();
  });
}

bool Builder::platformHasFastFp16() const noexcept {
  const auto backend = named_backend(BuilderConfig(reporter_), max_threads_, *reporter_);
  if (!backend.ok()) return false;
  // On the CPU, kFP16 means BF16.
  const DeviceProperties& device = backend->device->properties();
  return device.native_fp16 || (backend->device->capabilities().host_cores && device.native_bf16);
}
bool Builder::platformHasFastInt8() const noexcept {
  constexpr int kFirstWithProducts = 80;
  const auto backend = named_backend(BuilderConfig(reporter_), max_threads_, *reporter_);
  if (!backend.ok()) return false;
  const DeviceProperties& device = backend->device->properties();
  return device.kind == DeviceKind::kCpu ? cpu::has_byte_products()
                                         : device.compute_capability >= kFirstWithProducts;
}
bool Builder::platformHasTf32() const noexcept {
  constexpr int kFirstWithTf32 = 80;
  const auto backend = named_backend(BuilderConfig(reporter_), max_threads_, *reporter_);
  return backend.ok() && backend->device->properties().compute_capability >= kFirstWithTf32;
}
int32_t Builder::getMaxDLABatchSize() const noexcept {
  return 0;
}
int32_t Builder::getNbDLACores() const noexcept {
  return 0;
}
void Builder::setGpuAllocator(IGpuAllocator* allocator) noexcept {
  allocator_ = allocator;
}
void Builder::reset() noexcept {
  max_threads_ = 0;
}
IPluginRegistry& Builder::getPluginRegistry() noexcept {
  return *::getPluginRegistry();
}

}  // namespace tenon::api
