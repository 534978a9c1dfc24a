#include "callbacks.h"

#include <atomic>
#include <exception>
#include <map>
#include <mutex>
#include <vector>

#include "tenon/callbacks.h"

namespace tenon::python {
namespace {

struct Kept {
  int depth;  ///< Of the call that it happened in.
  std::exception_ptr error;
};

/// Of one thread. Callbacks call the library too: calls lie in one another, and each has its own
/// exception.
struct Calls {
  /// The thread's own number as a caller; 0 on a thread of the library's, which bears its caller's.
  const uint64_t number = own_number();
  int depth = 0;
  std::vector<Kept> kept;

  static uint64_t own_number() noexcept {
    static std::atomic<uint64_t> last = 0;
    if (callNumber() != 0) return 0;
    setCallNumber(++last);
    return callNumber();
  }
};

/// Of the library's threads, by the numbers of their callers.
struct Others {
  std::mutex mutex;
  std::map<uint64_t, std::exception_ptr> kept;
  std::atomic<bool> some{false};  ///< Whether there are any: calls ask without the mutex.

  /// The first of a caller wins.
  void keep(uint64_t caller) {
    const std::lock_guard lock(mutex);
    kept.try_emplace(caller, std::current_exception());
    some = true;
  }
  std::exception_ptr take(uint64_t caller) {
    if (!some) return nullptr;
    const std::lock_guard lock(mutex);
    const auto node = kept.extract(caller);
    some = !kept.empty();
    return node.empty() ? nullptr : node.mapped();
  }
};

Calls& calls() {
  static thread_local Calls calls;
  return calls;
}

Others& others() {
  static auto* const others = new Others;  // Threads may outlive static objects.
  return *others;
}

/// Python's own threads have a state while they do not hold its lock; others' goes with the lock.
bool is_pythons_thread() {
  return PyGILState_GetThisThreadState() != nullptr;
}

/// Prints the exception that is being handled, as Python does with those of `__del__`.
void write_unraisable() noexcept {
  nb::gil_scoped_acquire gil;
  try {
    throw;
  } catch (nb::python_error& error) {
    error.discard_as_unraisable("a callback of the library's, outside of all calls");
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
    PyErr_WriteUnraisable(Py_None);
  } catch (...) {  // Of an unknown type: nothing can be told.
  }
}

/// Raises the exception of a call of this depth.
void raise_of(int depth) {
  Calls& here = calls();
  std::exception_ptr error;
  if (!here.kept.empty() && here.kept.back().depth >= depth) {
    error = here.kept.back().error;
    here.kept.pop_back();
  } else if (depth <= 1) {
    error = others().take(here.number);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace

void keep_error() noexcept {
  Calls& here = calls();
  if (here.depth > 0) {
    if (here.kept.empty() || here.kept.back().depth < here.depth)
      here.kept.push_back({here.depth, std::current_exception()});
    return;
  }
  if (is_pythons_thread() || here.number != 0) return write_unraisable();
  others().keep(callNumber());
}

InCall::InCall() noexcept : thrown_(std::uncaught_exceptions()) {
  ++calls().depth;
}

InCall::~InCall() {
  Calls& here = calls();
  // The binding itself raises: an exception that a callback raised before must not come with a
  // later call.
  --here.depth;
  if (std::uncaught_exceptions() == thrown_) return;
  while (!here.kept.empty() && here.kept.back().depth > here.depth) here.kept.pop_back();
  if (here.depth == 0) others().take(here.number);
}

void RaiseKept::postcall(PyObject**, size_t, PyObject*) {
  raise_of(calls().depth + 1);
}

void RaiseKept::raise() {
  raise_of(calls().depth);
}

}  // namespace tenon::python
