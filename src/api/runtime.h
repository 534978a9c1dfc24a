#pragma once

#include <functional>
#include <memory>
#include <string>

#include "kernels/backend.h"
#include "network/reported.h"
#include "plan/plan.h"
#include "plugin/logger_lease.h"
#include "tenon/device.h"

namespace tenon::api {

using namespace nvinfer1;  // The surface's own names, in the classes that implement it.
using nvinfer1::DataType;
using nvinfer1::Dims;

/// IRuntime: loads plans for the device they were built for.
class Runtime final : public network::Threaded<IRuntime> {
 public:
  explicit Runtime(ILogger& logger)
      : Threaded(std::make_shared<network::Reporter>(&logger)), lease_(logger) {}

  void setDLACore(int32_t dlaCore) noexcept override;
  int32_t getDLACore() const noexcept override;
  int32_t getNbDLACores() const noexcept override;
  void setGpuAllocator(IGpuAllocator* allocator) noexcept override;
  ICudaEngine* deserializeCudaEngine(const void* blob, std::size_t size) noexcept override;
  ICudaEngine* deserializeCudaEngine(IStreamReader& streamReader) noexcept override;
  ICudaEngine* deserializeCudaEngineV2(IStreamReaderV2& streamReader) noexcept override;
  void setTemporaryDirectory(const char* path) noexcept override;
  const char* getTemporaryDirectory() const noexcept override;
  void setTempfileControlFlags(TempfileControlFlags flags) noexcept override;
  TempfileControlFlags getTempfileControlFlags() const noexcept override;
  IPluginRegistry& getPluginRegistry() noexcept override;
  IRuntime* loadRuntime(const char* path) noexcept override;
  void setEngineHostCodeAllowed(bool allowed) noexcept override;
  bool getEngineHostCodeAllowed() const noexcept override;
  void setPluginRegistryParent(IPluginRegistry* parent) noexcept override;

  /// The GPU that plans for GPUs are loaded on.
  void set_device(int32_t device) { device_ = device; }
  /// Whether engines run the code in plans.
  void allow_plan_code(bool allowed) { plan_code_allowed_ = allowed; }
  ICudaEngine* load_file(const char* path) noexcept;

 private:
  Result<ICudaEngine*> engine_of(std::shared_ptr<const void> owner,
                                 std::span<const std::byte> bytes, bool mapped);
  Result<Backend> backend_for(DeviceKind device) const;
  /// The plugin libraries in the plan, where code of the host is allowed; else an error.
  Status load_libraries(Plan& plan) const;
  ICudaEngine* load(std::shared_ptr<const void> owner, const void* bytes, size_t size,
                    bool mapped = false) noexcept;
  /// Reads one plan and nothing behind it; an answer of 0 or less before its end is an error.
  ICudaEngine* load_stream(const std::function<int64_t(void*, int64_t)>& read) noexcept;

  plugin::LoggerLease lease_;
  IGpuAllocator* allocator_ = nullptr;
  int32_t device_ = kDefaultDevice;
  std::string temporary_directory_;
  TempfileControlFlags tempfile_flags_ = 3;
  bool host_code_allowed_ = false, plan_code_allowed_ = true;
};

}  // namespace tenon::api
