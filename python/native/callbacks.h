#pragma once

/// How exceptions of Python callbacks reach the caller: the library's interfaces are noexcept, so
/// that a trampoline catches Python's exception, answers with the interface's value for failure,
/// and the binding that the application called raises it when the library returns.

#include <nanobind/nanobind.h>
#include <nanobind/trampoline.h>

#include <type_traits>
#include <utility>

namespace tenon::python {

namespace nb = nanobind;

/// Keeps the exception that is being handled for the binding in whose call it happened: the one on
/// this thread, else (on a thread of the library's own) the next that returns. The first of a call
/// wins.
void keep_error() noexcept;

/// Held while a binding is in the library.
class InCall {
 public:
  InCall() noexcept;
  ~InCall();
  InCall(const InCall&) = delete;
};

/// Raises the exception of keep_error().
struct RaiseKept {
  static void precall(PyObject**, size_t, nb::detail::cleanup_list*) {}
  static void postcall(PyObject**, size_t, PyObject*) { raise(); }
  static void raise();
};

/// Arguments are converted inside, where Python is locked: give them as C++ has them.
/// Calls the Python method that overrides one of the library's. `fallback` is the answer where it
/// raises, or where the class has none.
template <typename Result, typename... Args>
Result call_python(const nb::detail::trampoline& object, const char* name, Result fallback,
                   Args&&... args) noexcept {
  try {
    nb::gil_scoped_acquire gil;
    nb::object result = object.base().attr(name)(std::forward<Args>(args)...);
    if constexpr (std::is_same_v<Result, bool>) {
      const int truth = PyObject_IsTrue(result.ptr());
      if (truth < 0) throw nb::python_error();
      return truth == 1;
    } else {
      return nb::cast<Result>(result);
    }
  } catch (...) {
    keep_error();
    return fallback;
  }
}

template <typename... Args>
void call_python_void(const nb::detail::trampoline& object, const char* name,
                      Args&&... args) noexcept {
  try {
    nb::gil_scoped_acquire gil;
    object.base().attr(name)(std::forward<Args>(args)...);
  } catch (...) {
    keep_error();
  }
}

}  // namespace tenon::python

/// Extras of a binding in which the library may take long or call Python.
#define TENON_LONG                                                   \
  nb::call_guard<::tenon::python::InCall, nb::gil_scoped_release>(), \
      nb::call_policy<::tenon::python::RaiseKept>()
