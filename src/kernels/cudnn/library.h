#pragma once

#include <array>
#include <atomic>
#include <memory>

#include "device/device.h"
#include "device/streams.h"
#include "kernels/cudnn/plan.h"

namespace tenon::cudnn {

/// cuDNN on one device, with handles for threads to borrow: a handle serves one thread at a time.
///
/// A handle that waits is bound to a stream that nothing runs on: cuDNN records an event of the
/// handle on each stream that it is bound to, and an event on a stream of which another thread ends
/// the capture is not to be recorded again at that time (the driver, 580, reads through a null
/// pointer).
class Library {
 public:
  /// `identity` names the device and the versions of its libraries; `context`: its context's
  /// number; `parked`: the stream of handles that wait.
  Library(const Api& api, std::string identity, uint64_t context, DeviceHandle parked)
      : api_(&api), identity_(std::move(identity)), context_(context), parked_(std::move(parked)) {}
  Library(const Library&) = delete;
  ~Library();

  const Api& api() const { return *api_; }
  /// Where plans are made, with a borrowed handle.
  Context context(cudnnHandle_t handle) const {
    return {api_, handle, nullptr, identity_, &plans_};
  }
  /// A handle that is bound to no stream that anything runs on; another is made when all are in
  /// use.
  Result<cudnnHandle_t> borrow() const;
  Status bind(cudnnHandle_t handle, void* stream) const;
  void give_back(cudnnHandle_t handle) const;

 private:
  /// For other libraries of this context.
  void let_go(cudnnHandle_t handle) const;

  static constexpr size_t kSlots = 32;
  const Api* api_;
  std::string identity_;
  uint64_t context_;
  DeviceHandle parked_;
  mutable SharedPlans plans_;
  mutable std::array<std::atomic<cudnnHandle_t>, kSlots> free_{};
};

/// A borrowed handle.
class Borrowed {
 public:
  /// For making plans.
  static Result<Borrowed> from(const Library& library);
  /// For launches on the stream (null: the default one).
  static Result<Borrowed> from(const Library& library, void* stream);
  Borrowed(Borrowed&& other) noexcept
      : library_(other.library_), handle_(std::exchange(other.handle_, nullptr)) {}
  Borrowed& operator=(Borrowed&&) = delete;
  ~Borrowed() {
    if (handle_ != nullptr) library_->give_back(handle_);
  }
  cudnnHandle_t get() const { return handle_; }

 private:
  Borrowed(const Library& library, cudnnHandle_t handle) : library_(&library), handle_(handle) {}
  const Library* library_;
  cudnnHandle_t handle_;
};

/// The device's own, made on first use. The device must be an NVIDIA GPU.
Result<std::shared_ptr<const Library>> library_of(Device& device);

}  // namespace tenon::cudnn
