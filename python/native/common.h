#pragma once

/// Includes and helpers for every source of the module.

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>

#include "NvInfer.h"
#include "callbacks.h"
#include "casters.h"
#include "documented.h"

// The module binds deprecated names like all others.
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace tenon::python {

using namespace nvinfer1;  // NOLINT: nearly every name of these sources is one of the surface.
using namespace nanobind::literals;

/// Addresses, streams and events are integers in Python.
using Address = std::uintptr_t;

inline void* pointer(Address address) {
  return reinterpret_cast<void*>(address);
}
inline cudaStream_t stream_of(Address address) {
  return reinterpret_cast<cudaStream_t>(address);
}
inline Address address_of(const void* pointer) {
  return reinterpret_cast<Address>(pointer);
}

/// Raises NotImplementedError: the answer of a method that an application's class was to override.
[[noreturn]] void must_override(const char* method);

/// `with object as name:` does nothing but warn that it is deprecated: objects are freed with their
/// last reference.
void with_statement(nb::handle type);

/// The submodule of this library's own additions, which `tensorrt` does not offer.
inline nb::module_ own(nb::module_& m) {
  return nb::cast<nb::module_>(m.attr("own"));
}

/// A getter and a setter as a property, and a getter alone. `Class` is the bound class.
#define TENON_RW(name, Get, Set) .def_prop_rw(name, &Class::Get, &Class::Set)
#define TENON_RO(name, Get) .def_prop_ro(name, &Class::Get)

// One function for each source; each adds its classes to the module.
void bind_enums(nb::module_& m);
void bind_types(nb::module_& m);
void bind_observers(nb::module_& m);
void bind_memory(nb::module_& m);
void bind_calibrators(nb::module_& m);
void bind_tensors(nb::module_& m);
void bind_layers(nb::module_& m);
void bind_window_layers(nb::module_& m);
void bind_control_layers(nb::module_& m);
void bind_network(nb::module_& m);
void bind_profile(nb::module_& m);
void bind_builder_config(nb::module_& m);
void bind_builder(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_context(nb::module_& m);
void bind_runtime(nb::module_& m);
void bind_refitter(nb::module_& m);
void bind_onnx(nb::module_& m);
void bind_plugin_types(nb::module_& m);
void bind_plugins(nb::module_& m);
void bind_device(nb::module_& m);
void bind_session(nb::module_& m);

}  // namespace tenon::python
