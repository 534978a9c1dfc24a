#include "device/cuda/shared_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/environment.h"

namespace tenon::cuda {

/// Local: the symbols are found by name alone and meet no others. One that fails the check is
/// closed, so that its parts are not taken for those of the next one.
Result<SharedLibrary> SharedLibrary::try_open(const std::string& file, const Check& check) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return resource_error("{}", dlerror());
  SharedLibrary library(handle, file);
  if (check == nullptr) return library;
  Status status = check(library);
  if (status.ok()) return library;
  dlclose(handle);
  return std::move(status).error();
}

Result<SharedLibrary> SharedLibrary::open(std::initializer_list<const char*> names,
                                          const Check& check) {
  std::vector<std::filesystem::path> files(names.begin(), names.end());
  for (const auto& folder : cuda_library_folders())
    for (const char* name : names) {
      std::error_code error;
      if (std::filesystem::exists(folder / name, error)) files.push_back(folder / name);
    }
  std::string reasons;
  for (const auto& file : files) {
    auto library = try_open(file, check);
    if (library.ok()) return library;
    reasons += fmt::format("; {}", library.error().message);
  }
  return resource_error("{} was not found{}", *names.begin(), reasons);
}

void* SharedLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

}  // namespace tenon::cuda
