// The module tenon._native: everything that Python calls of this library. Its classes say that they
// are of `tensorrt`, under which name the package of that name offers them.
#include <exception>

#include "NvInferPlugin.h"
#include "common.h"

namespace tenon::python {

void must_override(const char* method) {
  PyErr_Format(PyExc_NotImplementedError, "%s: a class of the application is to override it",
               method);
  throw nb::python_error();
}

void with_statement(nb::handle type) {
  const auto warn = [] {
    if (PyErr_WarnEx(
            PyExc_DeprecationWarning,
            "objects are freed with their last reference: a 'with' statement is not needed", 1))
      throw nb::python_error();
  };
  nb::cpp_function_def(
      [warn](nb::object self) {
        warn();
        return self;
      },
      nb::scope(type), nb::name("__enter__"), nb::is_method());
  nb::cpp_function_def([](nb::object, nb::args) {}, nb::scope(type), nb::name("__exit__"),
                       nb::is_method());
}

namespace {

/// Arguments that a binding casts itself: an object of another type is the caller's mistake.
void translate_casts(const std::exception_ptr& failure, void*) {
  try {
    std::rethrow_exception(failure);
  } catch (const std::bad_cast&) {
    PyErr_SetString(PyExc_TypeError, "the value is of another type than this can be");
  }
}

/// A text that stands for a string argument.
struct FallbackString {
  std::string text;
};

void bind_module(nb::module_& m) {
  m.attr("__version__") =
      std::to_string(NV_TENSORRT_MAJOR) + "." + std::to_string(NV_TENSORRT_MINOR) + "." +
      std::to_string(NV_TENSORRT_PATCH) + "." + std::to_string(NV_TENSORRT_BUILD);
  Documented<FallbackString>(m, "FallbackString")
      .def(nb::init<>())
      .def(nb::init<std::string>(), "text"_a)
      .def("__str__", [](const FallbackString& string) { return string.text; });
}

}  // namespace

}  // namespace tenon::python

NB_MODULE(_native, m) {
  using namespace tenon::python;
  nb::module_ own_names = m.def_submodule("own", "Additions of this library.");
  const nb::object name = m.attr("__name__");
  m.attr("__name__") = "tensorrt";
  nb::register_exception_translator(&translate_casts);
  bind_enums(m);
  bind_types(m);
  bind_observers(m);
  bind_memory(m);
  bind_calibrators(m);
  bind_tensors(m);
  bind_layers(m);
  bind_window_layers(m);
  bind_control_layers(m);
  bind_network(m);
  bind_profile(m);
  bind_builder_config(m);
  bind_builder(m);
  bind_engine(m);
  bind_context(m);
  bind_runtime(m);
  bind_refitter(m);
  bind_onnx(m);
  bind_plugin_types(m);
  bind_plugins(m);
  bind_module(m);
  m.attr("__name__") = name;
  // Scripts end with objects alive in many ways that are no mistake; tests switch the warnings on.
  nb::set_leak_warnings(false);
  own_names.def("set_leak_warnings", &nb::set_leak_warnings, "on"_a);
  bind_device(own_names);
  bind_session(own_names);
}
