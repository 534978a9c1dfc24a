#include "api/builder.h"
#include "api/builder_config.h"
#include "api/calibration.h"
#include "api/progress.h"
#include "base/stop.h"
#include "network/network.h"
#include "onnx/model_exporter.h"
#include "tenon/passes.h"

#define TENON_EXPORT __attribute__((visibility("default")))

namespace tenon {
namespace {

Status write_optimized(nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config,
                       const char* path, network::Reporter& reporter) {
  auto* definition = dynamic_cast<network::Network*>(&network);
  auto* settings = dynamic_cast<api::BuilderConfig*>(&config);
  if (definition == nullptr || settings == nullptr)
    return user_error("the network and the configuration must come from this library's builder");
  if (path == nullptr || *path == '\0') return user_error("no file is named");
  api::Progress progress(settings->getProgressMonitor(), nullptr, 0);
  const StopScope stops(progress.for_evaluations());
  TENON_ASSIGN(const auto graph, api::optimized_graph(*definition, *settings, reporter));
  TENON_TRY(progress.network_done());
  if (api::quantizes_implicitly(*settings, *definition, *graph))
    reporter.warning(
        "Layers that the build would quantize by ranges stay as they are: which ones it takes is "
        "decided by times");
  const StopScope stops_writing([&] { return !progress.kernels_done().ok(); });
  return importer::export_model(*graph, path);
}

}  // namespace

TENON_EXPORT bool writeOptimizedModel(nvinfer1::INetworkDefinition& network,
                                      nvinfer1::IBuilderConfig& config, const char* path,
                                      nvinfer1::ILogger& logger) noexcept {
  network::Reporter reporter(&logger);
  return reporter.guarded("writeOptimizedModel", false, [&] {
    const Status status = write_optimized(network, config, path, reporter);
    if (!status.ok()) reporter.report(status.error());
    return status.ok();
  });
}

}  // namespace tenon
