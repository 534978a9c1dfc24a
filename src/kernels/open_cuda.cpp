#include "kernels/open_cuda.h"

#include <dlfcn.h>

#include <filesystem>

namespace tenon {
namespace {

/// The file that this code was loaded from, whatever links led there (lib/compat holds some).
std::filesystem::path own_file() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&own_file), &info) == 0 || info.dli_fname == nullptr)
    return {};
  std::error_code error;
  std::filesystem::path file = std::filesystem::canonical(info.dli_fname, error);
  return error ? std::filesystem::path(info.dli_fname) : file;
}

Result<OpenCuda> load() {
  constexpr const char* kName = "libtenon_cuda.so";
  void* library = dlopen((own_file().parent_path() / kName).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return unsupported("this build has no part for NVIDIA GPUs: {}", dlerror());
  void* function = dlsym(library, kOpenCudaName);
  if (function == nullptr) return internal_error("{} has no function {}", kName, kOpenCudaName);
  return reinterpret_cast<OpenCuda>(function);
}

}  // namespace

Result<Backend> open_cuda_library(int ordinal, const DeviceProperties* described) {
  static const Result<OpenCuda> kOpen = load();
  if (!kOpen.ok()) return Error(kOpen.error());
  Result<Backend> backend = internal_error("libtenon_cuda gave no answer");
  (*kOpen)(ordinal, described, kOpenCudaStamp, &backend);
  return backend;
}

}  // namespace tenon
