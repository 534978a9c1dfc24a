#pragma once

/// Arguments that are true or false. Programs give 0 and 1 and NumPy's too, as they may to modules
/// of pybind11.

#include <nanobind/nanobind.h>

#include <type_traits>
#include <utility>

namespace tenon::python {

namespace nb = nanobind;

struct Truth {
  bool value = false;
  operator bool() const { return value; }  // NOLINT: it stands for the bool.
};
/// False where the object is neither True, False, an integer nor one of NumPy's (no error is set).
bool read_truth(nb::handle source, Truth& out) noexcept;

/// The type that an argument is taken as.
template <typename Argument>
using Taken = std::conditional_t<std::is_same_v<Argument, bool>, Truth, Argument>;
template <typename... Arguments>
inline constexpr bool kHasTruth = (std::is_same_v<Arguments, bool> || ...);

/// A callable that takes Truth for each bool; one without a bool stays as it is. Methods are called
/// on `Target`, the class that is bound.
template <typename Target> class Loosened {
 public:
  template <typename Result, typename Class, typename... Arguments>
  static auto of(Result (Class::*method)(Arguments...)) {
    return of_method<Target&, Result, Arguments...>(method);
  }
  template <typename Result, typename Class, typename... Arguments>
  static auto of(Result (Class::*method)(Arguments...) noexcept) {
    return of_method<Target&, Result, Arguments...>(method);
  }
  template <typename Result, typename Class, typename... Arguments>
  static auto of(Result (Class::*method)(Arguments...) const) {
    return of_method<const Target&, Result, Arguments...>(method);
  }
  template <typename Result, typename Class, typename... Arguments>
  static auto of(Result (Class::*method)(Arguments...) const noexcept) {
    return of_method<const Target&, Result, Arguments...>(method);
  }
  template <typename Function> static auto of(Function function) {
    if constexpr (std::is_class_v<Function>)
      return of_lambda(std::move(function), &Function::operator());
    else
      return function;
  }

 private:
  template <typename Self, typename Result, typename... Arguments, typename Method>
  static auto of_method(Method method) {
    if constexpr (kHasTruth<Arguments...>)
      return [method](Self self, Taken<Arguments>... arguments) -> Result {
        return (self.*method)(static_cast<Arguments>(arguments)...);
      };
    else
      return method;
  }
  template <typename Function, typename Result, typename... Arguments>
  static auto of_lambda(Function function, Result (Function::*)(Arguments...) const) {
    if constexpr (kHasTruth<Arguments...>)
      return [function](Taken<Arguments>... arguments) -> Result {
        return function(static_cast<Arguments>(arguments)...);
      };
    else
      return function;
  }
};

}  // namespace tenon::python

namespace nanobind::detail {

template <> struct type_caster<tenon::python::Truth> {
  NB_TYPE_CASTER(tenon::python::Truth, const_name("bool"))
  bool from_python(handle source, uint32_t, cleanup_list*) noexcept {
    return tenon::python::read_truth(source, value);
  }
  static handle from_cpp(tenon::python::Truth truth, rv_policy, cleanup_list*) noexcept {
    return handle(truth.value ? Py_True : Py_False).inc_ref();
  }
};

}  // namespace nanobind::detail
