#include "device/cuda/driver.h"

#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

Result<Driver> open_driver() {
  TENON_ASSIGN(const SharedLibrary library, SharedLibrary::open({"libcuda.so.1"}));
  Driver table;
#define TENON_FUNCTION(name) TENON_CUDA_LOAD(library, table, name)
#include "device/cuda/driver.def"
  if (const CUresult code = table.cuInit(0); code != CUDA_SUCCESS) {
    const char* text = nullptr;
    table.cuGetErrorString(code, &text);
    return resource_error("the NVIDIA driver does not start: {}", text == nullptr ? "?" : text);
  }
  table.cuDriverGetVersion(&table.version);
  return table;
}

const Result<Driver>& opened() {
  static const Result<Driver> kDriver = open_driver();
  return kDriver;
}

}  // namespace

Result<const Driver*> load_driver() {
  if (!opened().ok()) return Error(opened().error());
  return &*opened();
}

const Driver& driver() {
  return *opened();
}

Error driver_error(CUresult code, const char* call) {
  const char *name = nullptr, *text = nullptr;
  driver().cuGetErrorName(code, &name);
  driver().cuGetErrorString(code, &text);
  return resource_error("{}: {} ({})", call, text == nullptr ? "unknown error" : text,
                        name == nullptr ? std::to_string(static_cast<int>(code)) : name);
}

}  // namespace tenon::cuda
