// Runtime.
#include "tenon/runtime.h"

#include "common.h"
#include "tenon/device.h"

namespace tenon::python {
namespace {

using Class = IRuntime;

constexpr auto kOwned = nb::rv_policy::take_ownership;

Class* create(ILogger& logger) {
  Class* runtime = createInferRuntime(logger);
  if (!runtime) {
    RaiseKept::raise();
    throw std::runtime_error("the runtime could not be made: see the log");
  }
  return runtime;
}

ICudaEngine* load_bytes(Class& runtime, nb::handle plan) {
  Py_buffer view;
  if (PyObject_GetBuffer(plan.ptr(), &view, PyBUF_SIMPLE)) throw nb::python_error();
  ICudaEngine* engine = nullptr;
  {
    nb::gil_scoped_release released;
    engine = runtime.deserializeCudaEngine(view.buf, static_cast<size_t>(view.len));
  }
  PyBuffer_Release(&view);
  return engine;
}

}  // namespace

void bind_runtime(nb::module_& m) {
  Documented<Class> bound(m, "Runtime", "Loads plans.");
  bound.def(nb::new_(&create), "logger"_a, nb::keep_alive<0, 2>())
      .def(
          "deserialize_cuda_engine",
          [](Class& runtime, IStreamReaderV2& reader) {
            return runtime.deserializeCudaEngine(reader);
          },
          "stream_reader_v2"_a, kOwned, nb::keep_alive<0, 1>(), TENON_LONG)
      .def(
          "deserialize_cuda_engine",
          [](Class& runtime, IStreamReader& reader) {
            return runtime.deserializeCudaEngine(reader);
          },
          "stream_reader"_a, kOwned, nb::keep_alive<0, 1>(), TENON_LONG)
      .def(
          "deserialize_cuda_engine",
          [](Class& runtime, nb::object plan) {
            InCall call;
            return load_bytes(runtime, plan);
          },
          "serialized_engine"_a, kOwned, nb::keep_alive<0, 1>(), nb::call_policy<RaiseKept>())
      // clang-format off
      TENON_RW("DLA_core", getDLACore, setDLACore)
      TENON_RO("num_DLA_cores", getNbDLACores)
      TENON_RW("max_threads", getMaxThreads, setMaxThreads)
      TENON_RW("temporary_directory", getTemporaryDirectory, setTemporaryDirectory)
      TENON_RW("tempfile_control_flags", getTempfileControlFlags, setTempfileControlFlags)
      TENON_RW("engine_host_code_allowed", getEngineHostCodeAllowed, setEngineHostCodeAllowed)
      // clang-format on
      .def_prop_rw(
          "gpu_allocator", nullptr,
          [](Class& runtime, IGpuAllocator* allocator) { runtime.setGpuAllocator(allocator); },
          nb::for_setter(nb::arg("value").none()), nb::for_setter(nb::keep_alive<1, 2>()))
      .def_prop_rw("error_recorder", &Class::getErrorRecorder, &Class::setErrorRecorder,
                   nb::rv_policy::reference, nb::for_setter(nb::arg("value").none()),
                   nb::for_setter(nb::keep_alive<1, 2>()))
      .def_prop_ro("logger", &Class::getLogger, nb::rv_policy::reference)
      .def("get_plugin_registry", &Class::getPluginRegistry, nb::rv_policy::reference_internal)
      .def("load_runtime", &Class::loadRuntime, "path"_a, kOwned, nb::keep_alive<0, 1>(),
           TENON_LONG);
  with_statement(bound);
  own(m).def("set_plan_code_allowed", &tenon::setPlanCodeAllowed, "runtime"_a, "allowed"_a);
  own(m).def("set_run_device", &tenon::setRunDevice, "runtime"_a, "device"_a);
  own(m).def("load_engine", &tenon::loadEngine, "runtime"_a, "path"_a, kOwned,
             nb::keep_alive<0, 1>(), TENON_LONG);
}

}  // namespace tenon::python
