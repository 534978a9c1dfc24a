// Builder.
#include "common.h"

namespace tenon::python {
namespace {

using Class = IBuilder;

constexpr auto kOwned = nb::rv_policy::take_ownership;

Class* create(ILogger& logger) {
  Class* builder = createInferBuilder(logger);
  if (!builder) {
    RaiseKept::raise();
    throw std::runtime_error("the builder could not be made: see the log");
  }
  return builder;
}

void bind_platform(Documented<Class>& bound) {
  bound
      // clang-format off
      TENON_RO("platform_has_tf32", platformHasTf32)
      TENON_RO("platform_has_fast_fp16", platformHasFastFp16)
      TENON_RO("platform_has_fast_int8", platformHasFastInt8)
      TENON_RO("max_DLA_batch_size", getMaxDLABatchSize)
      TENON_RO("num_DLA_cores", getNbDLACores)
      TENON_RW("max_threads", getMaxThreads, setMaxThreads);
  // clang-format on
  bound
      .def_prop_rw(
          "gpu_allocator", nullptr,
          [](Class& builder, IGpuAllocator* allocator) { builder.setGpuAllocator(allocator); },
          nb::for_setter(nb::arg("value").none()), nb::for_setter(nb::keep_alive<1, 2>()))
      .def_prop_rw("error_recorder", &Class::getErrorRecorder, &Class::setErrorRecorder,
                   nb::for_setter(nb::arg("value").none()), nb::for_setter(nb::keep_alive<1, 2>()))
      .def_prop_ro("logger", &Class::getLogger, nb::rv_policy::reference);
}

}  // namespace

void bind_builder(nb::module_& m) {
  Documented<Class> bound(m, "Builder", "Makes networks, configurations and plans.");
  bound.def(nb::new_(&create), "logger"_a, nb::keep_alive<0, 2>())
      .def("create_network", &Class::createNetworkV2, "flags"_a = 0U, kOwned,
           nb::keep_alive<0, 1>())
      .def("create_optimization_profile", &Class::createOptimizationProfile,
           nb::rv_policy::reference_internal)
      .def("create_builder_config", &Class::createBuilderConfig, kOwned, nb::keep_alive<0, 1>())
      .def("build_serialized_network",
           nb::overload_cast<INetworkDefinition&, IBuilderConfig&>(&Class::buildSerializedNetwork),
           "network"_a, "config"_a, kOwned, TENON_LONG)
      .def("build_serialized_network_to_stream", &Class::buildSerializedNetworkToStream,
           "network"_a, "config"_a, "writer"_a, TENON_LONG)
      .def("build_engine_with_config", &Class::buildEngineWithConfig, "network"_a, "config"_a,
           kOwned, nb::keep_alive<0, 1>(), TENON_LONG)
      .def("is_network_supported", &Class::isNetworkSupported, "network"_a, "config"_a, TENON_LONG)
      .def("get_plugin_registry", &Class::getPluginRegistry, nb::rv_policy::reference_internal)
      .def("reset", &Class::reset);
  bind_platform(bound);
  with_statement(bound);
}

}  // namespace tenon::python
