// Refitter.
#include "common.h"

namespace tenon::python {
namespace {

using Class = IRefitter;
using Self = nb::pointer_and_handle<Class>;

Class* create(ICudaEngine& engine, ILogger& logger) {
  Class* refitter = createInferRefitter(engine, logger);
  if (!refitter) {
    RaiseKept::raise();
    throw std::runtime_error("the engine cannot be refitted: see the log");
  }
  return refitter;
}

/// Refits read the weights when they run: arrays live as long as the refitter.
void keep(nb::handle self, const OwnedWeights& weights) {
  if (weights.owner.is_valid()) nb::keep_alive_obj(self, weights.owner);
}

using ListNames = int32_t (Class::*)(int32_t, const char**);
using ListRoles = int32_t (Class::*)(int32_t, const char**, WeightsRole*);

template <ListNames List> std::vector<std::string> names(Class& refitter) {
  std::vector<const char*> found(static_cast<size_t>(std::max(0, (refitter.*List)(0, nullptr))));
  (refitter.*List)(static_cast<int32_t>(found.size()), found.data());
  return {found.begin(), found.end()};
}

template <ListRoles List>
std::pair<std::vector<std::string>, std::vector<WeightsRole>> roles(Class& refitter) {
  const auto count = static_cast<size_t>(std::max(0, (refitter.*List)(0, nullptr, nullptr)));
  std::vector<const char*> layers(count);
  std::vector<WeightsRole> found(count);
  (refitter.*List)(static_cast<int32_t>(count), layers.data(), found.data());
  return {{layers.begin(), layers.end()}, found};
}

std::vector<std::string> ranged_tensors(const Class& refitter) {
  std::vector<const char*> found(
      static_cast<size_t>(std::max(0, refitter.getTensorsWithDynamicRange(0, nullptr))));
  refitter.getTensorsWithDynamicRange(static_cast<int32_t>(found.size()), found.data());
  return {found.begin(), found.end()};
}

void bind_weights(Documented<Class>& bound) {
  bound
      .def(
          "set_weights",
          [](Self self, const char* layer, WeightsRole role, WeightsArg weights) {
            keep(self.h, weights);
            return self.p->setWeights(layer, role, weights.weights);
          },
          "layer_name"_a, "role"_a, "weights"_a)
      .def(
          "set_named_weights",
          [](Self self, const char* name, WeightsArg weights) {
            keep(self.h, weights);
            return self.p->setNamedWeights(name, weights.weights);
          },
          "name"_a, "weights"_a)
      .def(
          "set_named_weights",
          [](Self self, const char* name, WeightsArg weights, TensorLocation location) {
            keep(self.h, weights);
            return self.p->setNamedWeights(name, weights.weights, location);
          },
          "name"_a, "weights"_a, "location"_a)
      .def(
          "get_named_weights",
          [](Self self, const char* name) {
            return nb::cast(OwnedWeights{self.p->getNamedWeights(name), nb::borrow(self.h)});
          },
          "weights_name"_a)
      .def(
          "get_weights_prototype",
          [](Self self, const char* name) {
            return OwnedWeights{self.p->getWeightsPrototype(name), nb::object()};
          },
          "weights_name"_a)
      .def("get_weights_location", &Class::getWeightsLocation, "weights_name"_a)
      .def("unset_named_weights", &Class::unsetNamedWeights, "weights_name"_a)
      .def("get_missing", &roles<&Class::getMissing>)
      .def("get_missing_weights", &names<&Class::getMissingWeights>)
      .def("get_all", &roles<&Class::getAll>)
      .def("get_all_weights", &names<&Class::getAllWeights>);
}

}  // namespace

void bind_refitter(nb::module_& m) {
  Documented<Class> bound(m, "Refitter", "Replaces weights of an engine.");
  bound
      .def(nb::new_(&create), "engine"_a, "logger"_a, nb::keep_alive<0, 2>(),
           nb::keep_alive<0, 3>())
      .def("refit_cuda_engine", &Class::refitCudaEngine, TENON_LONG)
      .def(
          "refit_cuda_engine_async",
          [](Class& refitter, Handle stream) {
            return refitter.refitCudaEngineAsync(stream_of(stream));
          },
          "stream_handle"_a, TENON_LONG)
      .def(
          "get_dynamic_range",
          [](const Class& r, const char* name) {
            return std::pair(r.getDynamicRangeMin(name), r.getDynamicRangeMax(name));
          },
          "tensor_name"_a)
      .def(
          "set_dynamic_range",
          [](Class& r, const char* name, std::pair<float, float> range) {
            return r.setDynamicRange(name, range.first, range.second);
          },
          "tensor_name"_a, "range"_a)
      .def("get_tensors_with_dynamic_range", &ranged_tensors)
      // clang-format off
      TENON_RW("max_threads", getMaxThreads, setMaxThreads)
      TENON_RW("weights_validation", getWeightsValidation, setWeightsValidation)
      // clang-format on
      .def_prop_rw("error_recorder", &Class::getErrorRecorder, &Class::setErrorRecorder,
                   nb::rv_policy::reference, nb::for_setter(nb::arg("value").none()),
                   nb::for_setter(nb::keep_alive<1, 2>()))
      .def_prop_ro("logger", &Class::getLogger, nb::rv_policy::reference);
  bind_weights(bound);
  with_statement(bound);
}

}  // namespace tenon::python
