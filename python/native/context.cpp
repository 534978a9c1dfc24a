// IExecutionContext.
#include "common.h"
#include "tenon/device.h"

namespace tenon::python {
namespace {

using Class = IExecutionContext;
using Bound = Documented<Class>;

/// Extras of a property for an object of the application, or None.
#define TENON_GIVEN nb::for_setter(nb::arg("value").none()), nb::for_setter(nb::keep_alive<1, 2>())

std::vector<std::string> missing_shapes(Class& context) {
  std::vector<const char*> names(static_cast<size_t>(context.getEngine().getNbIOTensors()));
  const int32_t count = context.inferShapes(static_cast<int32_t>(names.size()), names.data());
  if (count < 0) throw std::runtime_error("the shapes could not be inferred: see the log");
  return {names.begin(),
          names.begin() + std::min<size_t>(static_cast<size_t>(count), names.size())};
}

void bind_tensor_state(Bound& bound) {
  bound.def("get_tensor_strides", &Class::getTensorStrides, "name"_a)
      .def("set_input_shape", &Class::setInputShape, "name"_a, "shape"_a)
      .def("get_tensor_shape", &Class::getTensorShape, "name"_a)
      .def(
          "set_tensor_address",
          [](Class& c, const char* name, Handle memory) {
            return c.setTensorAddress(name, pointer(memory));
          },
          "name"_a, "memory"_a)
      .def(
          "get_tensor_address",
          [](const Class& c, const char* name) { return address_of(c.getTensorAddress(name)); },
          "name"_a)
      .def("set_output_allocator", &Class::setOutputAllocator, "name"_a,
           "output_allocator"_a.none(), nb::keep_alive<1, 3>())
      .def("get_output_allocator", &Class::getOutputAllocator, "name"_a, nb::rv_policy::reference)
      .def("get_max_output_size", &Class::getMaxOutputSize, "name"_a)
      .def("infer_shapes", &missing_shapes, TENON_LONG)
      .def(
          "set_input_consumed_event",
          [](Class& c, Handle event) {
            return c.setInputConsumedEvent(reinterpret_cast<cudaEvent_t>(event.value));
          },
          "event"_a)
      .def("get_input_consumed_event",
           [](const Class& c) { return address_of(c.getInputConsumedEvent()); })
      // clang-format off
      TENON_RO("all_binding_shapes_specified", allInputDimensionsSpecified)
      TENON_RO("all_shape_inputs_specified", allInputShapesSpecified);
  // clang-format on
}

void bind_runs(Bound& bound) {
  bound
      .def(
          "execute_v2",
          [](Class& c, const std::vector<Handle>& bindings) {
            if (static_cast<int32_t>(bindings.size()) != c.getEngine().getNbIOTensors())
              return false;
            std::vector<void*> pointers;
            for (const Handle& address : bindings) pointers.push_back(pointer(address));
            return c.executeV2(pointers.data());
          },
          "bindings"_a, TENON_LONG)
      .def(
          "execute_async_v3",
          [](Class& c, Handle stream) { return c.enqueueV3(stream_of(stream)); }, "stream_handle"_a,
          TENON_LONG)
      .def(
          "set_optimization_profile_async",
          [](Class& c, int32_t index, Handle stream) {
            return c.setOptimizationProfileAsync(index, stream_of(stream));
          },
          "profile_index"_a, "stream_handle"_a, TENON_LONG)
      .def("report_to_profiler", &Class::reportToProfiler, TENON_LONG)
      .def(
          "set_aux_streams",
          [](Class& c, const std::vector<Handle>& streams) {
            std::vector<cudaStream_t> handles;
            for (const Handle& stream : streams) handles.push_back(stream_of(stream));
            c.setAuxStreams(handles.data(), static_cast<int32_t>(handles.size()));
          },
          "aux_streams"_a)
      .def(
          "set_communicator",
          [](Class& c, Handle communicator) { return c.setCommunicator(pointer(communicator)); },
          "communicator"_a);
}

void bind_memory_use(Bound& bound) {
  bound
      .def_prop_rw("device_memory", nullptr,
                   [](Class& c, Handle memory) { c.setDeviceMemory(pointer(memory)); })
      .def(
          "set_device_memory",
          [](Class& c, Handle memory, int64_t size) { c.setDeviceMemoryV2(pointer(memory), size); },
          "memory"_a, "size"_a)
      .def("update_device_memory_size_for_shapes", &Class::updateDeviceMemorySizeForShapes)
      .def_prop_rw("temporary_allocator", &Class::getTemporaryStorageAllocator,
                   &Class::setTemporaryStorageAllocator, nb::rv_policy::reference, TENON_GIVEN)
      .def_prop_rw("persistent_cache_limit", &Class::getPersistentCacheLimit,
                   &Class::setPersistentCacheLimit);
}

void bind_settings(Bound& bound) {
  bound
      // clang-format off
      TENON_RW("debug_sync", getDebugSync, setDebugSync)
      TENON_RW("name", getName, setName)
      TENON_RO("active_optimization_profile", getOptimizationProfile)
      TENON_RW("enqueue_emits_profile", getEnqueueEmitsProfile, setEnqueueEmitsProfile)
      TENON_RW("nvtx_verbosity", getNvtxVerbosity, setNvtxVerbosity)
      TENON_RW("unfused_tensors_debug_state", getUnfusedTensorsDebugState, setUnfusedTensorsDebugState)
                  // clang-format on
                  .def_prop_rw("profiler", &Class::getProfiler, &Class::setProfiler,
                               nb::rv_policy::reference, TENON_GIVEN)
                  .def_prop_ro("engine", &Class::getEngine, nb::rv_policy::reference)
                  .def_prop_rw("error_recorder", &Class::getErrorRecorder, &Class::setErrorRecorder,
                               nb::rv_policy::reference, TENON_GIVEN)
                  .def("set_debug_listener", &Class::setDebugListener, "listener"_a.none(),
                       nb::keep_alive<1, 2>())
                  .def("get_debug_listener", &Class::getDebugListener, nb::rv_policy::reference)
                  .def("set_tensor_debug_state", &Class::setTensorDebugState, "name"_a, "flag"_a)
                  .def("get_debug_state", &Class::getDebugState, "name"_a)
                  .def("set_all_tensors_debug_state", &Class::setAllTensorsDebugState, "flag"_a)
                  .def("get_runtime_config", &Class::getRuntimeConfig,
                       nb::rv_policy::take_ownership);
}

}  // namespace

void bind_context(nb::module_& m) {
  using Config = IRuntimeConfig;
  Documented<Config>(m, "IRuntimeConfig", "How contexts are made.")
      .def("set_execution_context_allocation_strategy",
           &Config::setExecutionContextAllocationStrategy, "strategy"_a)
      .def("get_execution_context_allocation_strategy",
           &Config::getExecutionContextAllocationStrategy);
  Bound bound(m, "IExecutionContext",
              "One thread's use of an engine: shapes, addresses, activation memory.");
  bind_tensor_state(bound);
  bind_runs(bound);
  bind_memory_use(bound);
  bind_settings(bound);
  with_statement(bound);
  own(m).def("set_graph_replay", &tenon::setGraphReplay, "context"_a, "replay"_a);
}

}  // namespace tenon::python
