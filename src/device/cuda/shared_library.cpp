#include "device/cuda/shared_library.h"

#include <dlfcn.h>

#include <filesystem>

#include "base/environment.h"

namespace tenon::cuda {

/// Local: the symbols are found by name alone and meet no others.
Result<SharedLibrary> SharedLibrary::try_open(const std::string& file, int flags,
                                              const Check& check) {
  void* handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | flags);
  if (handle == nullptr) return resource_error("{}", flags == 0 ? dlerror() : "not open");
  SharedLibrary library(handle, file);
  if (check == nullptr) return library;
  Status status = check(library);
  if (status.ok()) return library;
  dlclose(handle);
  return std::move(status).error();
}

Result<SharedLibrary> SharedLibrary::open(const char* title,
                                          std::initializer_list<const char*> names,
                                          const char* remedy, const Check& check) {
  for (const char* name : names)
    if (auto library = try_open(name, RTLD_NOLOAD, check); library.ok()) return library;
  // Installations that were named or come with Python packages fit together; what the loader finds
  // may be of any age, and parts of a library that was opened once stay.
  std::vector<std::filesystem::path> files;
  for (const auto& folder : cuda_library_folders())
    for (const char* name : names) {
      std::error_code error;
      if (std::filesystem::exists(folder / name, error)) files.push_back(folder / name);
    }
  files.insert(files.end(), names.begin(), names.end());
  std::string reasons;
  for (const auto& file : files) {
    auto library = try_open(file, 0, check);
    if (library.ok()) return library;
    reasons += fmt::format("; {}", library.error().message);
  }
  return resource_error("{} cannot be used: {}. The files tried{}", title, remedy, reasons);
}

void* SharedLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

}  // namespace tenon::cuda
