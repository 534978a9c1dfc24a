// ITensor and ILayer.
#include "graph.h"

namespace tenon::python {
namespace {

nb::object dynamic_range(const ITensor& tensor) {
  if (!tensor.dynamicRangeIsSet()) return nb::none();
  return nb::make_tuple(tensor.getDynamicRangeMin(), tensor.getDynamicRangeMax());
}

/// The class that a layer's type has.
nb::handle class_of(const ILayer& layer) {
  switch (layer.getType()) {
#define TENON_LAYER_CLASS(kind, class_name) \
  case LayerType::kind:                     \
    return nb::type<class_name>();
#include "layer_classes.def"
#undef TENON_LAYER_CLASS
    default: return nb::type<ILayer>();
  }
}

/// Applications cast a layer to the class that its type has by assigning __class__. Classes differ
/// in size, so that Python itself refuses that; objects of layers only point to the network's
/// layer, and the class decides the methods.
int assign_class(PyObject* self, PyObject* wanted, void*) {
  const auto* layer = nb::inst_ptr<ILayer>(self);
  const nb::handle actual = class_of(*layer);
  if (!wanted || !PyType_Check(wanted) || PyObject_IsSubclass(actual.ptr(), wanted) != 1 ||
      PyObject_IsSubclass(wanted, nb::type<ILayer>().ptr()) != 1) {
    PyErr_Format(PyExc_TypeError, "the layer '%s' is a %S, and nothing else", layer->getName(),
                 actual.ptr());
    return -1;
  }
  auto* const before = Py_TYPE(self);
  Py_INCREF(wanted);
  Py_SET_TYPE(self, reinterpret_cast<PyTypeObject*>(wanted));
  Py_DECREF(reinterpret_cast<PyObject*>(before));
  return 0;
}

PyObject* read_class(PyObject* self, void*) {
  auto* const type = reinterpret_cast<PyObject*>(Py_TYPE(self));
  Py_INCREF(type);
  return type;
}

PyGetSetDef layer_attributes[] = {
    {"__class__", &read_class, &assign_class, "The class that the layer is seen as.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

PyType_Slot layer_slots[] = {
    {Py_tp_getset, layer_attributes},
    {0, nullptr},
};

}  // namespace

void bind_tensors(nb::module_& m) {
  {
    using Class = ITensor;
    Documented<Class>(m, "ITensor", "A tensor of a network.")
        // clang-format off
        TENON_RW("name", getName, setName)
        TENON_RW("shape", getDimensions, setDimensions)
        TENON_RW("dtype", getType, setType)
        TENON_RW("broadcast_across_batch", getBroadcastAcrossBatch, setBroadcastAcrossBatch)
        TENON_RW("location", getLocation, setLocation)
        TENON_RW("allowed_formats", getAllowedFormats, setAllowedFormats)
        TENON_RO("is_network_input", isNetworkInput)
        TENON_RO("is_network_output", isNetworkOutput)
        TENON_RO("is_shape_tensor", isShapeTensor)
        TENON_RO("is_execution_tensor", isExecutionTensor)
                        // clang-format on
                        .def_prop_rw(
                            "dynamic_range", &dynamic_range,
                            [](Class& tensor, std::pair<float, float> range) {
                              if (!tensor.setDynamicRange(range.first, range.second))
                                throw nb::value_error("the range was refused: see the log");
                            })
                        .def("set_dynamic_range", &Class::setDynamicRange, "min"_a, "max"_a)
                        .def("reset_dynamic_range", &Class::resetDynamicRange)
                        .def("set_dimension_name", &Class::setDimensionName, "index"_a, "name"_a)
                        .def("get_dimension_name", &Class::getDimensionName, "index"_a);
  }
  using Class = ILayer;
  Documented<Class>(m, "ILayer", nb::type_slots(layer_slots),
                    "A layer of a network. Layers that a network hands out are of this class: "
                    "assign the class that their "
                    "type has to __class__ to reach its settings.")
      // clang-format off
      TENON_RW("name", getName, setName)
      TENON_RW("metadata", getMetadata, setMetadata)
      TENON_RW("num_ranks", getNbRanks, setNbRanks)
      TENON_RO("type", getType)
      TENON_RO("num_inputs", getNbInputs)
      TENON_RO("num_outputs", getNbOutputs)
      TENON_RW("precision", getPrecision, setPrecision)
      TENON_RO("precision_is_set", precisionIsSet)
              // clang-format on
              .def("set_input", &Class::setInput, "index"_a, "tensor"_a)
              .def("get_input", &Class::getInput, "index"_a, nb::rv_policy::reference_internal)
              .def("get_output", &Class::getOutput, "index"_a, nb::rv_policy::reference_internal)
              .def("reset_precision", &Class::resetPrecision)
              .def("set_output_type", &Class::setOutputType, "index"_a, "dtype"_a)
              .def("get_output_type", &Class::getOutputType, "index"_a)
              .def("output_type_is_set", &Class::outputTypeIsSet, "index"_a)
              .def("reset_output_type", &Class::resetOutputType, "index"_a);
}

}  // namespace tenon::python
