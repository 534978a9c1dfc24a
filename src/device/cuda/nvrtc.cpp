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
  // Never destroyed: static objects use it until the process has ended.
  static const auto* const kNvrtc = new Result<Nvrtc>(open_nvrtc());
  if (!kNvrtc->ok()) return Error(kNvrtc->error());
  return &**kNvrtc;
}

}  // namespace tenon::cuda
