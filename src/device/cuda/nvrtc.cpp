#include "device/cuda/nvrtc.h"

#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

constexpr char kRemedy[] =
    "install it (on PyPI: nvidia-cuda-nvrtc), or name the folder above its lib in TENON_CUDA_PATH; "
    "kernels that are not in the kernel cache cannot be compiled without it";

Result<Nvrtc> open_nvrtc() {
  TENON_ASSIGN(const SharedLibrary library,
               SharedLibrary::open("NVRTC, CUDA's run-time compiler,",
                                   {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"}, kRemedy));
  Nvrtc table;
#define TENON_FUNCTION(name) TENON_CUDA_LOAD(library, table, name)
#include "device/cuda/nvrtc.def"
  int major = 0, minor = 0;
  table.nvrtcVersion(&major, &minor);
  table.version = fmt::format("{}.{}", major, minor);
  return table;
}

}  // namespace

Result<const Nvrtc*> load_nvrtc() {
  return address_of(opened_once<open_nvrtc>());
}

}  // namespace tenon::cuda
