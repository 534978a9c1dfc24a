// ICudaEngine, its inspector and its serialization.
#include "common.h"
#include "tenon/device.h"
#include "tenon/passes.h"
#include "tenon/self_check.h"

namespace tenon::python {
namespace {

using Class = ICudaEngine;
using Bound = Documented<Class>;

constexpr auto kInside = nb::rv_policy::reference_internal;
constexpr auto kOwned = nb::rv_policy::take_ownership;

constexpr OptProfileSelector kSelectors[] = {OptProfileSelector::kMIN, OptProfileSelector::kOPT,
                                             OptProfileSelector::kMAX};

/// The tensor's name; `tensor` is one, or its number.
const char* tensor_name(const Class& engine, nb::handle tensor) {
  if (nb::isinstance<nb::str>(tensor)) return nb::cast<const char*>(tensor);
  const auto index = nb::cast<int64_t>(tensor);
  if (index < 0 || index >= engine.getNbIOTensors())
    throw nb::index_error("the engine has fewer inputs and outputs");
  return engine.getIOTensorName(static_cast<int32_t>(index));
}

std::vector<Dims> profile_shape(const Class& engine, int32_t profile, nb::object tensor) {
  const char* name = tensor_name(engine, tensor);
  std::vector<Dims> shapes;
  for (const auto select : kSelectors)
    shapes.push_back(engine.getProfileShape(name, profile, select));
  return shapes;
}

std::vector<std::vector<int64_t>> profile_values(const Class& engine, int32_t profile,
                                                 nb::object tensor) {
  const char* name = tensor_name(engine, tensor);
  std::vector<std::vector<int64_t>> all;
  for (const auto select : kSelectors) {
    const int64_t* values = engine.getProfileTensorValuesV2(name, profile, select);
    if (!values) return {};
    const Dims shape = engine.getTensorShape(name);
    const int64_t count = shape.nbDims == 0 ? 1 : shape.d[0];
    all.emplace_back(values, values + std::max<int64_t>(count, 0));
  }
  return all;
}

void bind_tensor_facts(Bound& bound) {
  using Plain = const char*;
  bound.def("get_tensor_name", &Class::getIOTensorName, "index"_a)
      .def("get_tensor_mode", &Class::getTensorIOMode, "name"_a)
      .def("is_shape_inference_io", &Class::isShapeInferenceIO, "name"_a)
      .def("get_tensor_shape", &Class::getTensorShape, "name"_a)
      .def("get_tensor_dtype", &Class::getTensorDataType, "name"_a)
      .def("get_tensor_location", &Class::getTensorLocation, "name"_a)
      .def("get_aliased_input_tensor", &Class::getAliasedInputTensor, "name"_a)
      .def("is_debug_tensor", &Class::isDebugTensor, "name"_a)
#define TENON_OF_PROFILE(name, Method)                                                    \
  .def(name, nb::overload_cast<Plain>(&Class::Method, nb::const_), "name"_a)              \
      .def(name, nb::overload_cast<Plain, int32_t>(&Class::Method, nb::const_), "name"_a, \
           "profile_index"_a)
      // clang-format off
      TENON_OF_PROFILE("get_tensor_bytes_per_component", getTensorBytesPerComponent)
      TENON_OF_PROFILE("get_tensor_components_per_element", getTensorComponentsPerElement)
      TENON_OF_PROFILE("get_tensor_format", getTensorFormat)
      TENON_OF_PROFILE("get_tensor_format_desc", getTensorFormatDesc)
      TENON_OF_PROFILE("get_tensor_vectorized_dim", getTensorVectorizedDim)
      // clang-format on
      .def(
          "get_tensor_profile_shape",
          [](const Class& engine, nb::object tensor, int32_t profile) {
            return profile_shape(engine, profile, tensor);
          },
          "name"_a, "profile_index"_a)
      .def(
          "get_tensor_profile_values",
          [](const Class& engine, nb::object tensor, int32_t profile) {
            return profile_values(engine, profile, tensor);
          },
          "name"_a, "profile_index"_a)
      .def(
          "get_tensor_profile_values",
          [](const Class& engine, int32_t profile, nb::str tensor) {
            return profile_values(engine, profile, tensor);
          },
          "profile_index"_a, "name"_a)
      .def("__getitem__",
           [](const Class& engine, int64_t index) { return tensor_name(engine, nb::int_(index)); });
}

void bind_sizes(Bound& bound) {
  bound
      // clang-format off
      TENON_RO("has_implicit_batch_dimension", hasImplicitBatchDimension)
      TENON_RO("num_layers", getNbLayers)
      TENON_RO("device_memory_size", getDeviceMemorySize)
      TENON_RO("device_memory_size_v2", getDeviceMemorySizeV2)
      TENON_RO("refittable", isRefittable)
      TENON_RO("name", getName)
      TENON_RO("num_optimization_profiles", getNbOptimizationProfiles)
      TENON_RO("engine_capability", getEngineCapability)
      TENON_RO("num_io_tensors", getNbIOTensors)
      TENON_RO("tactic_sources", getTacticSources)
      TENON_RO("profiling_verbosity", getProfilingVerbosity)
      TENON_RO("hardware_compatibility_level", getHardwareCompatibilityLevel)
      TENON_RO("num_aux_streams", getNbAuxStreams)
      TENON_RW("weight_streaming_budget", getWeightStreamingBudget, setWeightStreamingBudget)
      TENON_RO("minimum_weight_streaming_budget", getMinimumWeightStreamingBudget)
      TENON_RW("weight_streaming_budget_v2", getWeightStreamingBudgetV2, setWeightStreamingBudgetV2)
      TENON_RO("streamable_weights_size", getStreamableWeightsSize)
      TENON_RO("weight_streaming_scratch_memory_size", getWeightStreamingScratchMemorySize)
                                          // clang-format on
                                          .def("get_device_memory_size_for_profile",
                                               &Class::getDeviceMemorySizeForProfile,
                                               "profile_index"_a)
                                          .def("get_device_memory_size_for_profile_v2",
                                               &Class::getDeviceMemorySizeForProfileV2,
                                               "profile_index"_a)
                                          .def("get_weight_streaming_automatic_budget",
                                               &Class::getWeightStreamingAutomaticBudget)
                                          .def("get_engine_stat", &Class::getEngineStat, "stat"_a)
                                          .def_prop_rw("error_recorder", &Class::getErrorRecorder,
                                                       &Class::setErrorRecorder,
                                                       nb::for_setter(nb::arg("value").none()),
                                                       nb::for_setter(nb::keep_alive<1, 2>()));
}

void bind_contexts(Bound& bound) {
  bound.def("serialize", &Class::serialize, kOwned, TENON_LONG)
      .def("create_serialization_config", &Class::createSerializationConfig, kOwned)
      .def("serialize_with_config", &Class::serializeWithConfig, "config"_a, kOwned, TENON_LONG)
      .def("create_execution_context",
           nb::overload_cast<ExecutionContextAllocationStrategy>(&Class::createExecutionContext),
           "strategy"_a = ExecutionContextAllocationStrategy::kSTATIC, kOwned,
           nb::keep_alive<0, 1>(), TENON_LONG)
      .def("create_execution_context",
           nb::overload_cast<IRuntimeConfig*>(&Class::createExecutionContext), "runtime_config"_a,
           kOwned, nb::keep_alive<0, 1>(), nb::keep_alive<0, 2>(), TENON_LONG)
      .def("create_execution_context_without_device_memory",
           &Class::createExecutionContextWithoutDeviceMemory, kOwned, nb::keep_alive<0, 1>(),
           TENON_LONG)
      .def("create_runtime_config", &Class::createRuntimeConfig, kOwned)
      .def("create_engine_inspector", &Class::createEngineInspector, kOwned,
           nb::keep_alive<0, 1>());
}

void bind_inspector(nb::module_& m) {
  using Inspector = IEngineInspector;
  Documented<Inspector>(m, "EngineInspector", "Describes the layers of an engine.")
      .def_prop_rw("execution_context", &Inspector::getExecutionContext,
                   &Inspector::setExecutionContext, nb::rv_policy::reference,
                   nb::for_setter(nb::arg("value").none()), nb::for_setter(nb::keep_alive<1, 2>()))
      .def("get_layer_information", &Inspector::getLayerInformation, "layer_index"_a, "format"_a)
      .def("get_engine_information", &Inspector::getEngineInformation, "format"_a)
      .def_prop_rw("error_recorder", &Inspector::getErrorRecorder, &Inspector::setErrorRecorder,
                   nb::for_setter(nb::arg("value").none()), nb::for_setter(nb::keep_alive<1, 2>()));
  using Config = ISerializationConfig;
  Documented<Config>(m, "ISerializationConfig", "How an engine is written.")
      .def_prop_rw("flags", &Config::getFlags, &Config::setFlags)
      .def("clear_flag", &Config::clearFlag, "flag"_a)
      .def("set_flag", &Config::setFlag, "flag"_a)
      .def("get_flag", &Config::getFlag, "flag"_a);
}

std::vector<std::string> applied_passes(const Class& engine) {
  std::vector<std::string> lines;
  for (int32_t i = 0; i < tenon::getNbAppliedPasses(engine); ++i)
    lines.emplace_back(tenon::getAppliedPass(engine, i));
  return lines;
}

}  // namespace

void bind_engine(nb::module_& m) {
  bind_inspector(m);
  Bound bound(m, "ICudaEngine", "A loaded plan.");
  bind_tensor_facts(bound);
  bind_sizes(bound);
  bind_contexts(bound);
  with_statement(bound);
  own(m).def("runs_on_gpu", &tenon::runsOnGpu, "engine"_a);
  own(m).def("applied_passes", &applied_passes, "engine"_a);
  own(m).def("self_check_result", &tenon::getSelfCheckResult, "engine"_a);
}

}  // namespace tenon::python
