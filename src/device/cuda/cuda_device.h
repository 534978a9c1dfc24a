#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "device/code_library.h"
#include "device/cuda/compiler.h"
#include "device/cuda/context_scope.h"
#include "device/cuda/module_cache.h"
#include "device/device.h"
#include "device/device_family.h"
#include "device/streams.h"

namespace tenon::cuda {

/// An NVIDIA GPU, through its primary context (the one that the CUDA runtime uses). Every function
/// makes the device current on the calling thread.
class CudaDevice final : public Device, public Streams, public FamilyMember {
 public:
  /// Opens the driver, and reads the versions of the libraries that kernels come from.
  /// -1 stands for the GPU of the calling thread's current context, or the first one.
  static Result<std::shared_ptr<CudaDevice>> open(int ordinal = -1);
  ~CudaDevice() override;

  const DeviceProperties& properties() const override { return properties_; }
  void stand_for(const DeviceFamily& family) override;
  const DeviceProperties* own_properties() const override { return own_ ? &*own_ : nullptr; }
  DeviceFacts facts() const override;
  CodeWork code_work() const override;
  size_t shared_cache_bytes() const override;
  Result<std::shared_ptr<const void>> load_code(const CodeLibrary& code) override;
  Result<DeviceBuffer> allocate(size_t bytes) override;
  Status upload(void* device, const void* host, size_t bytes, Queue queue) override;
  Status download(void* host, const void* device, size_t bytes, Queue queue) override;
  Status copy(void* to, const void* from, size_t bytes, Queue queue) override;
  Status synchronize(Queue queue) override;
  const Capabilities& capabilities() const override { return kCudaCapabilities; }
  Status activate() override;
  Status prepare_fence() override { return prepare_fence(nullptr); }
  /// The same with what compiled code there is, which gets the fence's if it collects.
  Status prepare_fence(CodeLibrary* library);
  Status fence(Queue queue) override;
  Streams* streams() override { return this; }
  /// Short launches are recorded into a graph that holds several of them; those that cannot be
  /// recorded are timed one by one. By events in both cases.
  Result<double> time(Queue queue, int repeats, const std::function<Status()>& launch) override;

  Result<DeviceHandle> make_stream() override;
  Result<DeviceHandle> make_event(bool timed, bool blocking) override;
  Result<DeviceHandle> make_pinned(size_t bytes) override;
  Result<size_t> free_memory() override;
  Status record(void* event, void* stream) override;
  Status record_in_graph(void* event, void* stream) override;
  Status wait(void* stream, void* event) override;
  Result<bool> has_ended(void* event) override;
  Status synchronize_event(void* event) override;
  Status synchronize_stream(void* stream) override;
  Result<double> elapsed(void* start, void* end) override;
  Result<bool> is_capturing(void* stream) override;
  Result<int> priority(void* stream) override;
  bool is_profiled() const override;
  Result<DeviceHandle> capture(void* stream, const std::function<Status()>& work) override;
  Status load_kernels(void* stream, const std::function<Status()>& work) override;
  Status launch_graph(void* graph, void* stream) override;
  Status leave_captures_alone() override;
  /// Has range functions found, once, before threads use them.
  static void prepare_ranges();
  void push_range(const char* name) override;
  void pop_range() override;
  Status profile(bool on) override;
  Result<KernelRecords> record_kernels(const std::function<Status()>& work) override;

  /// Taken from the library (null: there is none) or else compiled, or found in the disk cache, and
  /// loaded, once for equal code (ModuleCache). `key`: its source_hash(), where that is known.
  Result<std::shared_ptr<const Module>> module(const DeviceCode& code,
                                               CodeLibrary* library = nullptr,
                                               const std::string& key = "");
  /// A constant's bytes on the device, ready for kernels on any stream.
  Result<DeviceBuffer> upload_constant(const void* host, size_t bytes);

  /// The device's one object of type T, such as a library's handle, made by `make` (a
  /// Result<std::shared_ptr<T>>) when it is first asked for. It goes before the device does.
  template <class T, class Make> Result<std::shared_ptr<T>> attached(const Make& make) {
    static const char kKey = 0;
    const std::lock_guard lock(attachment_mutex_);
    std::shared_ptr<void>& object = attachments_[&kKey];
    if (object == nullptr) {
      TENON_ASSIGN(object, make());
    }
    return std::static_pointer_cast<T>(object);
  }

  int capability() const { return properties_.compute_capability; }  ///< 90 for sm_90.
  /// For which code is compiled.
  CodeTarget target() const;
  int multiprocessors() const { return own_ ? own_->compute_units : properties_.compute_units; }

 private:
  CudaDevice() = default;
  /// Something of the driver's with the function that destroys it, on whatever thread that happens.
  template <class Handle> DeviceHandle owned(Handle handle, CUresult (*destroy)(Handle)) const {
    return DeviceHandle(reinterpret_cast<void*>(handle), [context = context_, destroy](void* p) {
      const ContextScope scope(context);
      destroy(reinterpret_cast<Handle>(p));
    });
  }
  Result<DeviceHandle> record(void* stream, const std::function<Status()>& work);
  Status read_properties(int ordinal);
  MultiprocessorLimits multiprocessor_limits() const;
  void read_library_versions();
  ModuleCache::Loaded load_module(std::string_view binary, bool lets_next_start);
  /// Milliseconds of `work` between two events on the stream.
  Result<double> median_time(Queue queue, int repeats, const std::function<Status()>& work);

  DeviceProperties properties_;
  std::optional<DeviceProperties> own_;  ///< Where it stands for a family.
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  std::mutex attachment_mutex_, fence_mutex_;
  ModuleCache modules_;
  std::atomic<int64_t> loaded_ = 0, load_nanoseconds_ = 0;
  std::shared_ptr<const Module> fence_module_;
  Function fence_;
  std::map<const void*, std::shared_ptr<void>> attachments_;  ///< By the type's key.
};

}  // namespace tenon::cuda
