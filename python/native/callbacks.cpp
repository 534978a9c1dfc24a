#include "callbacks.h"

#include <exception>
#include <mutex>

namespace tenon::python {
namespace {

/// Of one thread.
struct Calls {
  int depth = 0;
  std::exception_ptr kept;
};

/// Of threads that are in no call of Python's.
struct Others {
  std::mutex mutex;
  std::exception_ptr kept;
};

Calls& calls() {
  static thread_local Calls calls;
  return calls;
}

Others& others() {
  static auto* const others = new Others;  // Threads may outlive static objects.
  return *others;
}

}  // namespace

void keep_error() noexcept {
  Calls& here = calls();
  if (here.depth > 0) {
    if (!here.kept) here.kept = std::current_exception();
    return;
  }
  std::lock_guard lock(others().mutex);
  if (!others().kept) others().kept = std::current_exception();
}

InCall::InCall() noexcept {
  ++calls().depth;
}

InCall::~InCall() {
  --calls().depth;
}

void RaiseKept::raise() {
  std::exception_ptr kept = std::exchange(calls().kept, nullptr);
  if (!kept) {
    std::lock_guard lock(others().mutex);
    kept = std::exchange(others().kept, nullptr);
  }
  if (kept) std::rethrow_exception(kept);
}

}  // namespace tenon::python
