#pragma once

/// Bound classes whose methods and properties take their `__doc__` from src/surface/docs.tsv, and
/// raise the exceptions of callbacks during the call.

#include <nanobind/nanobind.h>

#include <concepts>
#include <string_view>
#include <utility>

#include "callbacks.h"
#include "truth.h"

namespace tenon::python {

namespace nb = nanobind;

/// The text for an attribute of a class, by their names in Python; "" where the table has none.
const char* doc_of(std::string_view type, std::string_view attribute);

/// Whether one of a binding's extras is a guard, which then holds InCall.
template <typename Extra> inline constexpr bool kIsGuard = false;
template <typename... Guards> inline constexpr bool kIsGuard<nb::call_guard<Guards...>> = true;

/// nb::class_ with the table's texts. A text that is given with an attribute replaces the table's.
/// Any method may log, and a logger raise: each has InCall and RaiseKept.
template <typename... Types> class Documented : public nb::class_<Types...> {
 public:
  using Base = nb::class_<Types...>;
  using Raise = nb::call_policy<RaiseKept>;
  using Inside = nb::call_guard<InCall>;

  template <typename... Extra>
  Documented(nb::handle scope, const char* name, const Extra&... extra)
      : Base(scope, name, extra...), name_(name) {}

  template <typename Function, typename... Extra>
  Documented& def(const char* name, Function&& function, const Extra&... extra) {
    if constexpr ((kIsGuard<Extra> || ...))
      Base::def(name, loose(function), doc_of(name_, name), extra..., Raise());
    else
      Base::def(name, loose(function), doc_of(name_, name), extra..., Raise(), Inside());
    return *this;
  }
  /// Constructors, which have no name.
  template <typename Visitor, typename... Extra>
  requires(!std::convertible_to<Visitor, const char*>) Documented& def(Visitor&& visitor,
                                                                       const Extra&... extra) {
    Base::def(std::forward<Visitor>(visitor), extra..., Raise(), Inside());
    return *this;
  }
  template <typename Getter, typename... Extra>
  Documented& def_prop_ro(const char* name, Getter&& getter, const Extra&... extra) {
    Base::def_prop_ro(name, std::forward<Getter>(getter), doc_of(name_, name), extra..., Raise(),
                      Inside());
    return *this;
  }
  template <typename Getter, typename Setter, typename... Extra>
  Documented& def_prop_rw(const char* name, Getter&& getter, Setter&& setter,
                          const Extra&... extra) {
    Base::def_prop_rw(name, std::forward<Getter>(getter), loose(setter), doc_of(name_, name),
                      extra..., Raise(), Inside());
    return *this;
  }

 private:
  template <typename Function> static auto loose(Function function) {
    return Loosened<typename Base::Type>::of(function);
  }

  const char* name_;
};

}  // namespace tenon::python
