// The table of all families, and the exports of libtenon_cuda.
#include <cstring>

#include "device/cuda/compiler.h"
#include "device/cuda/cublaslt.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/cudnn.h"
#include "device/cuda/kernel_cache.h"
#include "device/cuda/nvrtc.h"
#include "device/cuda/other_libraries.h"
#include "device/cuda/shared_library.h"
#include "device/described_device.h"
#include "kernels/cublaslt/library.h"
#include "kernels/open_cuda.h"

namespace tenon {

#define TENON_TACTIC(name, device, version, space, ...) TENON_DECLARE_TACTIC(space)
#include "kernels/cuda_tactics.def"

namespace {

constexpr Tactic kTable[] = {
#define TENON_TACTIC(name, device, version, space, ...) \
  TENON_TACTIC_ROW(name, device, version, space, tactics::space::configs, __VA_ARGS__)
#include "kernels/cuda_tactics.def"
};

template <class Outcome>
void add_note(TacticOrigin origin, const Outcome& outcome, Backend& backend) {
  if (!outcome.ok()) backend.notes.push_back({origin, outcome.error().message});
}

Result<Backend> open(int ordinal, const DeviceProperties* described, const char* stamp) {
  if (std::strcmp(stamp, kOpenCudaStamp) != 0)
    return user_error("libtenon_cuda and libtenon come from different builds ({}; {})",
                      kOpenCudaStamp, stamp);
  if (described != nullptr)
    return Backend{std::make_shared<DescribedDevice>(*described), cuda_tactics(),
                   make_cuda_sized_kernel};
  TENON_ASSIGN(std::shared_ptr<Device> device, cuda::CudaDevice::open(ordinal));
  Backend backend{std::move(device), cuda_tactics(), make_cuda_sized_kernel, cuda::other_libraries};
  add_note(TacticOrigin::kCudnn, cuda::load_cudnn(), backend);
  add_note(TacticOrigin::kCublasLt, cuda::load_cublaslt(), backend);
  add_note(TacticOrigin::kOwn, cuda::load_nvrtc(), backend);
  backend.starts = {{TacticOrigin::kCublasLt, cublaslt::start},
                    {TacticOrigin::kOwn, [](Device&) { return cuda::prepare_compilers(); }}};
  add_note(TacticOrigin::kOwn, cuda::opened_once<cuda::check_kernel_cache>(), backend);
  return backend;
}

}  // namespace

std::span<const Tactic> cuda_tactics() {
  return kTable;
}

}  // namespace tenon

extern "C" __attribute__((visibility("default"))) void tenon_open_cuda(
    int ordinal, const tenon::DeviceProperties* described, const char* stamp,
    tenon::Result<tenon::Backend>* result) {
  *result = tenon::open(ordinal, described, stamp);
}
