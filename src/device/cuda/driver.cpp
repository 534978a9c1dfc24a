#include "device/cuda/driver.h"

#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

Result<Driver> table_of(const SharedLibrary& library) {
  Driver table;
#define TENON_FUNCTION(name) TENON_CUDA_LOAD(library, table, name)
#include "device/cuda/driver.def"
  table.cuCtxGetId = reinterpret_cast<decltype(table.cuCtxGetId)>(library.find("cuCtxGetId"));
  return table;
}

Result<Driver> open_driver() {
  const auto library = SharedLibrary::open("the NVIDIA driver", {"libcuda.so.1"},
                                           "install it, or run where there is an NVIDIA GPU");
  if (!library.ok()) return unsupported("{}", library.error().message);
  auto loaded = table_of(*library);
  if (!loaded.ok())
    return resource_error("the NVIDIA driver is too old: {}", loaded.error().message);
  Driver& table = *loaded;
  if (const CUresult code = table.cuInit(0); code != CUDA_SUCCESS) {
    const char* text = nullptr;
    table.cuGetErrorString(code, &text);
    if (code == CUDA_ERROR_NO_DEVICE)
      return unsupported("the NVIDIA driver finds no GPU (CUDA_VISIBLE_DEVICES may hide it): {}",
                         text == nullptr ? "?" : text);
    return resource_error("the NVIDIA driver does not start: {}", text == nullptr ? "?" : text);
  }
  table.cuDriverGetVersion(&table.version);
  return table;
}

const Result<Driver>& opened() {
  return opened_once<open_driver>();
}

}  // namespace

Result<const Driver*> load_driver() {
  return address_of(opened());
}

const Driver& driver() {
  return *opened();
}

namespace {

/// Advice; empty where the driver's own words say it.
const char* remedy_of(CUresult code) {
  switch (code) {
    case CUDA_ERROR_OUT_OF_MEMORY:
      return "; use smaller batches, fewer contexts or a lower workspace limit, or free memory of "
             "other programs";
    case CUDA_ERROR_ILLEGAL_ADDRESS:
    case CUDA_ERROR_LAUNCH_FAILED:
    case CUDA_ERROR_MISALIGNED_ADDRESS:
    case CUDA_ERROR_ILLEGAL_INSTRUCTION:
      return "; a kernel of this process failed and the GPU takes no more work from it: start it "
             "again, with compute-sanitizer to see which kernel";
    case CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    case CUDA_ERROR_STREAM_CAPTURE_INVALIDATED:
    case CUDA_ERROR_STREAM_CAPTURE_IMPLICIT:
      return "; run enqueueV3 once with these shapes before a capture, which takes no work that "
             "happens once";
    case CUDA_ERROR_NO_BINARY_FOR_GPU:
    case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
    case CUDA_ERROR_INVALID_PTX:
      return "; the driver is older than the run-time compiler: update the driver, or use an older "
             "NVRTC";
    default: return "";
  }
}

}  // namespace

Error driver_error(CUresult code, const char* call) {
  const char *name = nullptr, *text = nullptr;
  driver().cuGetErrorName(code, &name);
  driver().cuGetErrorString(code, &text);
  return resource_error("{}: {} ({}){}", call, text == nullptr ? "unknown error" : text,
                        name == nullptr ? std::to_string(static_cast<int>(code)) : name,
                        remedy_of(code));
}

}  // namespace tenon::cuda
