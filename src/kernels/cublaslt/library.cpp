#include "kernels/cublaslt/library.h"

#include "device/cuda/cuda_device.h"
#include "device/cuda/process_end.h"
#include "device/described_device.h"

namespace tenon::cublaslt {

Library::~Library() {
  if (handle != nullptr && !cuda::process_is_ending()) api->cublasLtDestroy(handle);
}

Result<std::shared_ptr<const Library>> library_of(Device& device) {
  if (is_described(device)) return unsupported("{} is not here", device.properties().name);
  TENON_ASSIGN(auto library, static_cast<cuda::CudaDevice&>(device).attached<Library>(
                                 [&]() -> Result<std::shared_ptr<Library>> {
                                   auto made = std::make_shared<Library>();
                                   TENON_ASSIGN(made->api, cuda::load_cublaslt());
                                   TENON_TRY(device.activate());
                                   TENON_CUBLASLT(*made->api, cublasLtCreate, &made->handle);
                                   cuda::watch_process_end();
                                   return made;
                                 }));
  return std::shared_ptr<const Library>(library);
}

}  // namespace tenon::cublaslt
