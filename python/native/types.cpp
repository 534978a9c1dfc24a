// Extents, weights, memory, permutations and the records of versions.
#include <cstring>

#include "common.h"

namespace tenon::python {
namespace {

Dims dims_from(nb::handle source) {
  Dims dims{};
  if (!read_dims(source, dims))
    throw nb::type_error("extents are a sequence of at most 8 integers");
  return dims;
}

int32_t extent_count(const Dims& dims) {
  if (dims.nbDims < 0) throw nb::value_error("the rank is not known: __len__() should return >= 0");
  return dims.nbDims;
}

nb::tuple as_tuple(const int64_t* values, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(values[i]);
  return nb::tuple(list);
}

nb::tuple as_tuple(const Dims& dims) {
  return as_tuple(dims.d, extent_count(dims));
}

bool equal(const Dims& dims, nb::handle other) {
  Dims right{};
  if (!read_dims(other, right) || dims.nbDims != right.nbDims) return false;
  return dims.nbDims <= 0 || !std::memcmp(dims.d, right.d, sizeof(int64_t) * dims.nbDims);
}

int32_t checked_index(Py_ssize_t index, int32_t count) {
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw nb::index_error("index out of range");
  return static_cast<int32_t>(index);
}

template <typename Class, typename... Options>
void construct_dims(Documented<Class, Options...>& c) {
  c.def(nb::init<>())
      .def(
          "__init__",
          [](Class* self, nb::handle shape) {
            const Dims dims = dims_from(shape);
            Class made{};
            if (!std::is_same_v<Class, Dims> && dims.nbDims != made.nbDims)
              throw nb::value_error("another number of extents than the class has");
            static_cast<Dims&>(made) = dims;
            new (self) Class(made);
          },
          "shape"_a);
}

void bind_dims(nb::module_& m) {
  Documented<Dims> dims(m, "Dims",
                        "Extents of a tensor; -1 stands for one that is known at run time only.");
  construct_dims(dims);
  dims.def_prop_ro_static("MAX_DIMS", [](nb::handle) { return Dims::MAX_DIMS; })
      .def("__len__", &extent_count)
      .def("__getitem__",
           [](const Dims& d, Py_ssize_t i) { return d.d[checked_index(i, extent_count(d))]; })
      .def("__getitem__",
           [](const Dims& d, nb::slice s) {
             return nb::steal(PyObject_GetItem(as_tuple(d).ptr(), s.ptr()));
           })
      .def("__setitem__",
           [](Dims& d, Py_ssize_t i, int64_t v) { d.d[checked_index(i, extent_count(d))] = v; })
      .def("__iter__", [](const Dims& d) { return nb::steal(PyObject_GetIter(as_tuple(d).ptr())); })
      .def(
          "__eq__", [](const Dims& d, nb::handle o) { return equal(d, o); }, "other"_a.none())
      .def(
          "__ne__", [](const Dims& d, nb::handle o) { return !equal(d, o); }, "other"_a.none())
      .def("__reduce__",  // Copies and pickles keep the class.
           [](nb::handle self) {
             return nb::make_tuple(self.type(),
                                   nb::make_tuple(as_tuple(nb::cast<const Dims&>(self))));
           })
      .def("__hash__", [](const Dims& d) { return d.nbDims < 0 ? -1 : nb::hash(as_tuple(d)); })
      .def("__add__",
           [](const Dims& d, nb::handle o) { return nb::tuple(as_tuple(d) + nb::tuple(o)); })
      .def("__radd__",
           [](const Dims& d, nb::handle o) { return nb::tuple(nb::tuple(o) + as_tuple(d)); })
      .def("__repr__",
           [](const Dims& d) { return d.nbDims < 0 ? nb::str("(?)") : nb::repr(as_tuple(d)); });
  nb::implicitly_convertible<nb::sequence, Dims>();

  Documented<Dims2, Dims> dims2(m, "Dims2");
  construct_dims(dims2);
  dims2.def(nb::init<int64_t, int64_t>(), "dim0"_a, "dim1"_a);
  Documented<DimsHW, Dims2> hw(m, "DimsHW");
  construct_dims(hw);
  hw.def(nb::init<int64_t, int64_t>(), "h"_a, "w"_a)
      .def_prop_rw(
          "h", [](const DimsHW& d) { return d.h(); }, [](DimsHW& d, int64_t v) { d.h() = v; })
      .def_prop_rw(
          "w", [](const DimsHW& d) { return d.w(); }, [](DimsHW& d, int64_t v) { d.w() = v; });
  Documented<Dims3, Dims> dims3(m, "Dims3");
  construct_dims(dims3);
  dims3.def(nb::init<int64_t, int64_t, int64_t>(), "dim0"_a, "dim1"_a, "dim2"_a);
  Documented<Dims4, Dims> dims4(m, "Dims4");
  construct_dims(dims4);
  dims4.def(nb::init<int64_t, int64_t, int64_t, int64_t>(), "dim0"_a, "dim1"_a, "dim2"_a, "dim3"_a);
}

void bind_permutation(nb::module_& m) {
  Documented<Permutation>(m, "Permutation",
                          "Output axis i of a transpose is input axis permutation[i].")
      .def("__init__", [](Permutation* self) { new (self) Permutation{}; })
      .def(
          "__init__",
          [](Permutation* self, nb::sequence axes) {
            const Dims dims = dims_from(axes);
            Permutation made{};
            for (int32_t i = 0; i < dims.nbDims; ++i)
              made.order[i] = static_cast<int32_t>(dims.d[i]);
            new (self) Permutation(made);
          },
          "perm"_a)
      .def("__len__", [](const Permutation&) { return Dims::MAX_DIMS; })
      .def("__getitem__", [](const Permutation& p,
                             Py_ssize_t i) { return p.order[checked_index(i, Dims::MAX_DIMS)]; })
      .def("__setitem__", [](Permutation& p, Py_ssize_t i,
                             int32_t v) { p.order[checked_index(i, Dims::MAX_DIMS)] = v; })
      .def("__repr__", [](const Permutation& p) {
        nb::list axes;
        for (const int32_t axis : p.order) axes.append(axis);
        return nb::repr(nb::tuple(axes));
      });
  nb::implicitly_convertible<nb::sequence, Permutation>();
}

int64_t weight_bytes(const Weights& weights) {
  switch (weights.type) {
    case DataType::kINT4:
    case DataType::kFP4: return (weights.count + 1) / 2;
    case DataType::kFLOAT:
    case DataType::kINT32: return weights.count * 4;
    case DataType::kINT64: return weights.count * 8;
    case DataType::kHALF:
    case DataType::kBF16: return weights.count * 2;
    default: return weights.count;
  }
}

void bind_weights(nb::module_& m) {
  Documented<OwnedWeights>(
      m, "Weights", "Numbers of a layer. Made of an array, the object keeps the array alive.")
      .def(
          "__init__",
          [](OwnedWeights* self, DataType type) {
            new (self) OwnedWeights{{type, nullptr, 0}, nb::object()};
          },
          "type"_a = DataType::kFLOAT)
      .def(
          "__init__",
          [](OwnedWeights* self, DataType type, Handle data, int64_t count) {
            new (self) OwnedWeights{{type, pointer(data), count}, nb::object()};
          },
          "type"_a, "ptr"_a, "count"_a)
      .def(
          "__init__",
          [](OwnedWeights* self, WeightsArg a) { new (self) OwnedWeights(std::move(a)); }, "a"_a)
      .def_prop_ro("dtype", [](const OwnedWeights& w) { return w.weights.type; })
      .def_prop_ro("size", [](const OwnedWeights& w) { return w.weights.count; })
      .def_prop_ro("nbytes", [](const OwnedWeights& w) { return weight_bytes(w.weights); })
      .def("numpy",
           [](nb::handle self) {
             const auto& w = nb::cast<OwnedWeights&>(self);
             Dims flat{};
             flat.nbDims = 1;
             flat.d[0] = w.weights.count;
             return array_over(w.weights.values, w.weights.type, flat, self);
           })
      .def("__len__", [](const OwnedWeights& w) { return w.weights.count; });
}

int host_memory_buffer(PyObject* self, Py_buffer* view, int flags) {
  const auto& memory = *nb::inst_ptr<IHostMemory>(self);
  return PyBuffer_FillInfo(view, self, memory.data(), static_cast<Py_ssize_t>(memory.size()), 1,
                           flags);
}

PyType_Slot host_memory_slots[] = {
    {Py_bf_getbuffer, reinterpret_cast<void*>(&host_memory_buffer)},
    {0, nullptr},
};

}  // namespace

void bind_types(nb::module_& m) {
  bind_dims(m);
  bind_permutation(m);
  bind_weights(m);
  using Class = IHostMemory;
  Documented<Class> memory(m, "IHostMemory", nb::type_slots(host_memory_slots),
                           "Bytes that the library made.");
  with_statement(memory);
  memory
      // clang-format off
      TENON_RO("nbytes", size)
      TENON_RO("dtype", type)
          // clang-format on
          .def("__len__", &Class::size)
          .def("__bytes__",
               [](const Class& memory) { return nb::bytes(memory.data(), memory.size()); });
  Documented<InterfaceInfo>(m, "InterfaceInfo",
                            "Name and version of an interface that applications implement.")
      .def_ro("kind", &InterfaceInfo::kind)
      .def_ro("major", &InterfaceInfo::major)
      .def_ro("minor", &InterfaceInfo::minor);
  Documented<IVersionedInterface>(m, "IVersionedInterface")
      .def_prop_ro("api_language", &IVersionedInterface::getAPILanguage)
      .def_prop_ro("interface_info", &IVersionedInterface::getInterfaceInfo);
}

}  // namespace tenon::python
