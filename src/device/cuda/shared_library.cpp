#include "device/cuda/shared_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/environment.h"

namespace tenon::cuda {
namespace {

/// Local: the symbols are found by name alone and meet no others.
void* try_open(const std::string& file) {
  return dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
}

}  // namespace

Result<SharedLibrary> SharedLibrary::open(std::initializer_list<const char*> names) {
  std::string reasons;
  for (const char* name : names) {
    if (void* handle = try_open(name)) return SharedLibrary(handle, name);
    reasons += fmt::format("; {}", dlerror());
  }
  for (const auto& folder : cuda_library_folders())
    for (const char* name : names) {
      const std::filesystem::path file = folder / name;
      std::error_code error;
      if (!std::filesystem::exists(file, error)) continue;
      if (void* handle = try_open(file)) return SharedLibrary(handle, file);
      reasons += fmt::format("; {}", dlerror());
    }
  return resource_error("{} was not found{}", *names.begin(), reasons);
}

void* SharedLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

}  // namespace tenon::cuda
