#pragma once

#include <functional>
#include <initializer_list>
#include <string>

#include "base/status.h"

namespace tenon::cuda {

/// A library opened at run time; it stays open until the process ends.
class SharedLibrary {
 public:
  /// Names the fault of an opened library, if anything.
  using Check = std::function<Status(const SharedLibrary&)>;
  /// The first of the file names ("libnvrtc.so.13", "libnvrtc.so.12") that can be opened and passes
  /// the check: one that the process has open already, then those in the folders of
  /// base/environment.h, then the dynamic loader's. The error names the missing `title` ("cuDNN"),
  /// the fault of each file, and `remedy`, the advice.
  static Result<SharedLibrary> open(const char* title, std::initializer_list<const char*> names,
                                    const char* remedy, const Check& check = {});

  /// A second one of a file that may be open already, with data of its own; its bytes are copied.
  static Result<SharedLibrary> open_copy(const std::string& file);
  /// Opens the file so that libraries that ask for it by its name find it.
  static Status keep_open(const std::string& file);
  /// The file that the code or data at that address comes from, or nothing.
  static std::string file_of(const void* address);

  /// The function of that name, or null.
  void* find(const char* symbol) const;
  /// From here on the library calls `function` where it called another library's function of that
  /// name; nothing changes for others. Whether it does call it.
  bool redirect(const char* symbol, void* function) const;
  /// The file it came from.
  const std::string& path() const { return path_; }

 private:
  static Result<SharedLibrary> try_open(const std::string& file, int flags, const Check& check);
  SharedLibrary(void* handle, std::string path) : handle_(handle), path_(std::move(path)) {}
  void* handle_;
  std::string path_;
};

/// The result of the first call of `open`.
template <auto open> const auto& opened_once() {
  // Never destroyed: static objects use it until the process has ended.
  static const auto* const kOpened = new auto(open());
  return *kOpened;
}

/// The address of a Result's value, or its error.
template <class T> Result<const T*> address_of(const Result<T>& result) {
  if (!result.ok()) return Error(result.error());
  return &*result;
}

#define TENON_CUDA_STRING_INNER(x) #x
/// The name after macros are replaced: "cuMemAlloc_v2".
#define TENON_CUDA_STRING(x) TENON_CUDA_STRING_INNER(x)

/// Sets `table.name` from `library`; returns an error that names the missing symbol.
#define TENON_CUDA_LOAD(library, table, name)                                                 \
  table.name = reinterpret_cast<decltype(table.name)>(library.find(TENON_CUDA_STRING(name))); \
  if (table.name == nullptr)                                                                  \
    return unsupported("{} has no function {}; a newer version is needed", library.path(),    \
                       TENON_CUDA_STRING(name));

}  // namespace tenon::cuda
