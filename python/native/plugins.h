#pragma once

/// Plugins that are written in Python. Their interfaces are Python classes
/// (python/tenon/_plugins.py), so that one class may implement several of them; the adapters here
/// are the objects that the library sees. An adapter holds its Python object, the library frees its
/// own clones.

#include <memory>

#include "common.h"
#include "plugin_fields.h"

namespace tenon::python {

/// A Python object that a thread without Python's lock may let go.
class Held {
 public:
  explicit Held(nb::object object) : object_(std::move(object)) {}
  Held(const Held&) = delete;
  ~Held();
  nb::handle get() const { return object_; }

 private:
  nb::object object_;
};

/// A Python object behind an interface of C++: getters return it to Python.
class FromPython {
 public:
  explicit FromPython(nb::object object) : held(std::move(object)) {}
  virtual ~FromPython() = default;
  Held held;
  /// Texts that the interface hands out stay until the next call.
  const char* text(const char* attribute, std::string& store) const noexcept;
};

/// Calls a method, or reads an attribute; `fallback` where that raises.
template <typename Result, typename... Args>
Result ask(nb::handle object, const char* name, Result fallback, Args&&... args) noexcept {
  try {
    nb::gil_scoped_acquire gil;
    nb::object result = object.attr(name)(std::forward<Args>(args)...);
    if constexpr (std::is_same_v<Result, bool>)
      return truth_of(result);
    else
      return nb::cast<Result>(result);
  } catch (...) {
    keep_error();
    return fallback;
  }
}

/// Runs `work` with Python's lock: its answer, or `fallback` where it raises.
template <typename Result, typename Work> Result locked(Result fallback, Work work) noexcept {
  try {
    nb::gil_scoped_acquire gil;
    return work();
  } catch (...) {
    keep_error();
    return fallback;
  }
}

/// Status of a plugin's method: 0, or its result; None counts as 0.
inline int32_t status_of(nb::handle result) {
  return result.is_none() ? 0 : nb::cast<int32_t>(result);
}

template <typename T> nb::list list_of(const T* items, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(nb::cast(items[i], nb::rv_policy::copy));
  return list;
}
nb::list addresses(const void* const* items, int32_t count);

/// An adapter of the object, which the caller owns; null where a wrapped plugin of C++ was given
/// (see `native`).
IPluginV3* adapt_v3(nb::object plugin);
IPluginV2DynamicExt* adapt_v2(nb::object plugin);
/// The plugin that a wrapper stands for, or null.
IPluginV3* native_v3(nb::handle plugin);
IPluginV2* native_v2(nb::handle plugin);

/// The Python object of an adapter, or a wrapper of a plugin that is not from Python. `owner` keeps
/// the memory.
nb::object plugin_to_python(IPluginV3* plugin, nb::handle owner);
nb::object plugin_to_python(IPluginV2* plugin, nb::handle owner);

void bind_plugin_v2(nb::module_& m);
void bind_plugin_v3(nb::module_& m);
void bind_registry(nb::module_& m);

}  // namespace tenon::python
