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
/// this thread, else (on a thread of the library's own) the one on the thread that it works for.
/// The first of a call wins. Outside of all calls, where an object is freed, it is printed.
void keep_error() noexcept;

/// Held while a binding is in the library.
class InCall {
 public:
  InCall() noexcept;
  ~InCall();
  InCall(const InCall&) = delete;

 private:
  int thrown_;
};

/// Raises the exception of keep_error() when a binding returns, behind its InCall.
struct RaiseKept {
  static void precall(PyObject**, size_t, nb::detail::cleanup_list*) {}
  static void postcall(PyObject**, size_t, PyObject*);
  /// The same in a binding, where it has an InCall.
  static void raise();
};

/// As `if` has it, which may raise.
inline bool truth_of(nb::handle answer) {
  const int truth = PyObject_IsTrue(answer.ptr());
  if (truth < 0) throw nb::python_error();
  return truth == 1;
}

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
      return truth_of(result);
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

/// Extras of a function of the module that may log. Methods of Documented classes have them anyway.
#define TENON_CALL \
  nb::call_guard<::tenon::python::InCall>(), nb::call_policy<::tenon::python::RaiseKept>()

/// Extras of a binding in which the library may take long: Python goes on in the meantime.
#define TENON_LONG                                                   \
  nb::call_guard<::tenon::python::InCall, nb::gil_scoped_release>(), \
      nb::call_policy<::tenon::python::RaiseKept>()
