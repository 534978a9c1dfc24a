#pragma once

#include <cstdint>
#include <functional>
#include <new>
#include <type_traits>
#include <utility>

#include "base/status.h"

namespace tenon {

/// Memory of the host that is not there, where the number of bytes is known.
class OutOfMemory final : public std::bad_alloc {
 public:
  explicit OutOfMemory(int64_t bytes) : bytes_(bytes) {}
  const char* what() const noexcept override { return "out of memory"; }
  int64_t bytes() const { return bytes_; }

 private:
  int64_t bytes_;
};

/// The exception that is being handled as an Error: memory that ran out (with the bytes that were
/// asked for, where they are known), threads that could not be started, or else our own fault.
/// `where` names the operation; it may be empty.
Error error_of_exception(std::string_view where) noexcept;

/// f(), which returns a Result or a Status, where no exception leaves: for the calls of the API,
/// and inside for allocations whose size models decide, so that the error names the pass or node.
template <class F> std::invoke_result_t<F> guarded(std::string_view where, F&& f) noexcept {
  try {
    return std::invoke(std::forward<F>(f));
  } catch (...) {
    return error_of_exception(where);
  }
}

}  // namespace tenon
