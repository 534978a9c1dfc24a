// The extern "C" symbols that programs look up.
#include <filesystem>

#include "NvInfer.h"
#include "NvInferPlugin.h"
#include "api/builder.h"
#include "api/engine.h"
#include "api/refitter.h"
#include "api/runtime.h"
#include "base/guard.h"
#include "plugin/logger_lease.h"
#include "plugin/registry.h"
#include "plugin/stock.h"

namespace {

/// Programs built for another major version have other virtual tables.
bool acceptable(void* logger, int32_t version) {
  auto* sink = static_cast<nvinfer1::ILogger*>(logger);
  if (sink == nullptr) return false;
  if (version / 10000 == NV_TENSORRT_MAJOR) return true;
  sink->log(
      nvinfer1::ILogger::Severity::kERROR,
      fmt::format(
          "the program was built with headers of version {}, the library is {}; build it again",
          version / 10000, NV_TENSORRT_MAJOR)
          .c_str());
  return false;
}

/// An object that `make` gives, or null with an error logged.
template <class F> void* made(void* logger, int32_t version, const char* call, F make) noexcept {
  tenon::network::Reporter reporter(static_cast<nvinfer1::ILogger*>(logger));
  return reporter.guarded(
      call, nullptr, [&]() -> void* { return acceptable(logger, version) ? make() : nullptr; });
}

}  // namespace

#define TENON_EXPORT extern "C" __attribute__((visibility("default")))

TENON_EXPORT void* createInferBuilder_INTERNAL(void* logger, int32_t version) noexcept {
  return made(logger, version, "createInferBuilder", [&] {
    return static_cast<nvinfer1::IBuilder*>(
        new tenon::api::Builder(*static_cast<nvinfer1::ILogger*>(logger)));
  });
}

TENON_EXPORT void* createInferRuntime_INTERNAL(void* logger, int32_t version) noexcept {
  return made(logger, version, "createInferRuntime", [&] {
    return static_cast<nvinfer1::IRuntime*>(
        new tenon::api::Runtime(*static_cast<nvinfer1::ILogger*>(logger)));
  });
}

TENON_EXPORT void* createInferRefitter_INTERNAL(void* engine, void* logger,
                                                int32_t version) noexcept {
  return made(logger, version, "createInferRefitter", [&]() -> void* {
    auto reporter =
        std::make_shared<tenon::network::Reporter>(static_cast<nvinfer1::ILogger*>(logger));
    auto* handle =
        dynamic_cast<tenon::api::EngineHandle*>(static_cast<nvinfer1::ICudaEngine*>(engine));
    if (handle == nullptr) {
      reporter->report(
          tenon::user_error("createInferRefitter was given no engine of this library"));
      return nullptr;
    }
    auto refitter = tenon::api::Refitter::create(*handle, reporter);
    if (refitter.ok()) return static_cast<nvinfer1::IRefitter*>(refitter->release());
    reporter->report(refitter.error());
    return nullptr;
  });
}

TENON_EXPORT nvinfer1::IPluginRegistry* getPluginRegistry() noexcept {
  return &tenon::plugin::registry();
}

namespace nvinfer1 {
TENON_EXPORT IPluginRegistry* getBuilderPluginRegistry(EngineCapability capability) noexcept {
  return capability == EngineCapability::kSTANDARD ? &tenon::plugin::registry() : nullptr;
}
TENON_EXPORT safe::IPluginRegistry* getBuilderSafePluginRegistry(EngineCapability) noexcept {
  return nullptr;
}
TENON_EXPORT bool setInternalLibraryPath(const AsciiChar* path) noexcept {
  return path != nullptr && std::filesystem::is_directory(path);
}
}  // namespace nvinfer1

TENON_EXPORT nvinfer1::ILogger* getLogger() noexcept {
  return tenon::plugin::first_logger();
}

TENON_EXPORT int32_t getInferLibVersion() noexcept {
  return NV_TENSORRT_VERSION;
}
TENON_EXPORT int32_t getInferLibMajorVersion() noexcept {
  return NV_TENSORRT_MAJOR;
}
TENON_EXPORT int32_t getInferLibMinorVersion() noexcept {
  return NV_TENSORRT_MINOR;
}
TENON_EXPORT int32_t getInferLibPatchVersion() noexcept {
  return NV_TENSORRT_PATCH;
}
TENON_EXPORT int32_t getInferLibBuildVersion() noexcept {
  return NV_TENSORRT_BUILD;
}

TENON_EXPORT bool initLibNvInferPlugins(void*, const char* space) {
  const auto registered = tenon::guarded("initLibNvInferPlugins", [&]() -> tenon::Result<bool> {
    return tenon::plugin::register_stock_plugins(tenon::plugin::registry(), space);
  });
  return registered.ok() && *registered;
}
