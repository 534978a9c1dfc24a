#include "kernels/cudnn/library.h"

#include "device/cuda/cuda_device.h"
#include "device/cuda/lasting_context.h"
#include "device/cuda/process_end.h"
#include "device/described_device.h"
#include "kernels/cudnn/idle_handles.h"

namespace tenon::cudnn {

Library::~Library() {
  if (cuda::process_is_ending()) return;
  for (auto& slot : free_)
    if (cudnnHandle_t handle = slot.exchange(nullptr)) let_go(handle);
}

void Library::let_go(cudnnHandle_t handle) const {
  if (!IdleHandles::instance().put(context_, handle)) api_->cudnnDestroy(handle);
}

Status Library::bind(cudnnHandle_t handle, void* stream) const {
  TENON_CUDNN(*api_, cudnnSetStream, handle, static_cast<cudaStream_t>(stream));
  return {};
}

Result<cudnnHandle_t> Library::borrow() const {
  for (auto& slot : free_)
    if (cudnnHandle_t handle = slot.exchange(nullptr)) return handle;
  if (cudnnHandle_t handle = IdleHandles::instance().take(context_)) return handle;
  cudnnHandle_t handle = nullptr;
  TENON_CUDNN(*api_, cudnnCreate, &handle);
  return handle;
}

void Library::give_back(cudnnHandle_t handle) const {
  if (!bind(handle, parked_.get()).ok()) {
    api_->cudnnDestroy(handle);
    return;
  }
  for (auto& slot : free_) {
    cudnnHandle_t empty = nullptr;
    if (slot.compare_exchange_strong(empty, handle)) return;
  }
  let_go(handle);
}

Result<Borrowed> Borrowed::from(const Library& library) {
  TENON_ASSIGN(cudnnHandle_t handle, library.borrow());
  return Borrowed(library, handle);
}

Result<Borrowed> Borrowed::from(const Library& library, void* stream) {
  TENON_ASSIGN(Borrowed borrowed, from(library));
  TENON_TRY(library.bind(borrowed.get(), stream));
  return borrowed;
}

Result<std::shared_ptr<const Library>> library_of(Device& device) {
  if (is_described(device)) return unsupported("{} is not here", device.properties().name);
  auto& gpu = static_cast<cuda::CudaDevice&>(device);
  TENON_ASSIGN(auto library, gpu.attached<Library>([&]() -> Result<std::shared_ptr<Library>> {
    TENON_ASSIGN(const cuda::Cudnn* api, cuda::load_cudnn());
    TENON_ASSIGN(DeviceHandle parked, gpu.make_stream());
    auto made = std::make_shared<Library>(
        *api, device.properties().name + ", " + device.properties().libraries,
        cuda::current_context(), std::move(parked));
    // Handles are made before the first launch, which may be under capture.
    TENON_ASSIGN(cudnnHandle_t first, made->borrow());
    made->give_back(first);
    cuda::watch_process_end();
    return made;
  }));
  return std::shared_ptr<const Library>(library);
}

}  // namespace tenon::cudnn
