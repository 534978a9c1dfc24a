#include "device/cuda/shared_library.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>

#include "base/environment.h"
#include "device/cuda/library_calls.h"

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
  // Installations that were named or come with Python packages fit together; libraries that the
  // loader finds may be of any age, and parts of a library that was opened once stay.
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

namespace {

/// A file that is closed with its owner.
class OpenFile {
 public:
  explicit OpenFile(int number) : number_(number) {}
  ~OpenFile() {
    if (number_ >= 0) close(number_);
  }
  OpenFile(const OpenFile&) = delete;
  int number() const { return number_; }
  void release() { number_ = -1; }

 private:
  int number_;
};

bool copy_all(const OpenFile& from, const OpenFile& to) {
  struct stat state {};
  if (from.number() < 0 || to.number() < 0 || fstat(from.number(), &state) != 0) return false;
  for (off_t done = 0; done < state.st_size;)
    if (sendfile(to.number(), from.number(), &done, static_cast<size_t>(state.st_size - done)) <= 0)
      return false;
  return true;
}

}  // namespace

/// The loader takes a file for another one where neither name nor inode are the same: the copy's
/// file stays open, so that no other one gets its number.
Result<SharedLibrary> SharedLibrary::open_copy(const std::string& file) {
  const OpenFile from(::open(file.c_str(), O_RDONLY | O_CLOEXEC));
  OpenFile to(memfd_create("library", MFD_CLOEXEC));
  if (!copy_all(from, to)) return resource_error("'{}' could not be copied", file);
  auto library = try_open(fmt::format("/proc/self/fd/{}", to.number()), 0, {});
  if (library.ok()) to.release();
  return library;
}

Status SharedLibrary::keep_open(const std::string& file) {
  const auto library = try_open(file, 0, {});
  return library.ok() ? Status() : Status(library.error());
}

std::string SharedLibrary::file_of(const void* address) {
  Dl_info info{};
  return dladdr(address, &info) != 0 && info.dli_fname != nullptr ? info.dli_fname : "";
}

void* SharedLibrary::find(const char* symbol) const {
  return dlsym(handle_, symbol);
}

bool SharedLibrary::redirect(const char* symbol, void* function) const {
  return redirect_calls(handle_, symbol, function);
}

}  // namespace tenon::cuda
