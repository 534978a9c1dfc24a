#include "casters.h"

#include <cstring>

#include "common.h"
#include "truth.h"

namespace tenon::python {
namespace {

/// Types that arrays can have, by NumPy's name or ml_dtypes'.
struct TypeName {
  DataType type;
  const char* name;
  bool of_numpy;  ///< Else of ml_dtypes.
};

constexpr TypeName kTypeNames[] = {
    {DataType::kFLOAT, "float32", true},      {DataType::kHALF, "float16", true},
    {DataType::kINT8, "int8", true},          {DataType::kINT32, "int32", true},
    {DataType::kBOOL, "bool", true},          {DataType::kUINT8, "uint8", true},
    {DataType::kINT64, "int64", true},        {DataType::kBF16, "bfloat16", false},
    {DataType::kFP8, "float8_e4m3fn", false}, {DataType::kINT4, "int4", false},
    {DataType::kFP4, "float4_e2m1fn", false}, {DataType::kE8M0, "float8_e8m0fnu", false},
};

const TypeName* find_type(DataType type) noexcept {
  for (const TypeName& row : kTypeNames)
    if (row.type == type) return &row;
  return nullptr;
}

bool is_numpy_truth(nb::handle source) noexcept {
  std::string module, name;
  return nb::try_cast(nb::getattr(source.type(), "__module__", nb::none()), module) &&
         nb::try_cast(nb::getattr(source.type(), "__name__", nb::none()), name) &&
         module == "numpy" && (name == "bool" || name == "bool_");
}

nb::object dtype_of(const TypeName& row) {
  return nb::module_::import_("numpy").attr("dtype")(
      row.of_numpy ? nb::object(nb::str(row.name))
                   : nb::module_::import_("ml_dtypes").attr(row.name));
}

/// The array itself where its elements lie next to each other, else a copy of it in which they do.
nb::object contiguous(nb::handle array) {
  return nb::module_::import_("numpy").attr("ascontiguousarray")(array);
}

bool weights_of_array(nb::handle source, OwnedWeights& out) {
  if (!nb::hasattr(source, "__array__") && !PyObject_CheckBuffer(source.ptr())) return false;
  const nb::object array = contiguous(source);
  const std::string name = nb::cast<std::string>(array.attr("dtype").attr("name"));
  const bool known = data_type_of(name.c_str(), out.weights.type);
  // Arrays hold one element of 4 bits a byte, weights two.
  if (known && (out.weights.type == DataType::kINT4 || out.weights.type == DataType::kFP4))
    return false;
  if (!known) {
    if (name != "float64") return false;
    out.owner = array.attr("astype")("float32");
    out.weights.type = DataType::kFLOAT;
  } else {
    out.owner = array;
  }
  out.weights.values = pointer(nb::cast<Address>(out.owner.attr("ctypes").attr("data")));
  out.weights.count = nb::cast<int64_t>(out.owner.attr("size"));
  return true;
}

}  // namespace

bool read_dims(nb::handle source, Dims& out) noexcept {
  if (nb::try_cast<Dims>(source, out, false)) return true;
  if (!PySequence_Check(source.ptr()) || PyUnicode_Check(source.ptr()) ||
      PyBytes_Check(source.ptr()))
    return false;
  const Py_ssize_t size = PySequence_Size(source.ptr());
  if (size < 0 || size > Dims::MAX_DIMS) {
    PyErr_Clear();
    return false;
  }
  out = Dims{};
  out.nbDims = static_cast<int32_t>(size);
  for (Py_ssize_t i = 0; i < size; ++i) {
    const nb::object item = nb::steal(PySequence_GetItem(source.ptr(), i));
    const nb::object index = item.is_valid() ? nb::steal(PyNumber_Index(item.ptr())) : nb::object();
    out.d[i] = index.is_valid() ? PyLong_AsLongLong(index.ptr()) : -1;
    if (!PyErr_Occurred()) continue;
    PyErr_Clear();
    return false;
  }
  return true;
}

bool read_weights(nb::handle source, OwnedWeights& out) noexcept {
  if (source.is_none()) {
    out = OwnedWeights{};
    return true;
  }
  if (nb::isinstance<OwnedWeights>(source)) {
    out = nb::cast<OwnedWeights&>(source);
    return true;
  }
  try {
    return weights_of_array(source, out);
  } catch (...) {
    return false;
  }
}

bool read_handle(nb::handle source, Handle& out) noexcept {
  PyTypeObject* const type = Py_TYPE(source.ptr());
  const bool like_int = PyType_GetSlot(type, Py_nb_int) && !PyType_GetSlot(type, Py_nb_float);
  if (!PyIndex_Check(source.ptr()) && !like_int) return false;
  PyObject* const whole = PyNumber_Long(source.ptr());
  if (whole) out.value = PyLong_AsSize_t(whole);  // Its error is seen below.
  Py_XDECREF(whole);
  if (!PyErr_Occurred()) return true;
  PyErr_Clear();
  return false;
}

bool read_truth(nb::handle source, Truth& out) noexcept {
  if (!PyBool_Check(source.ptr()) && !PyLong_Check(source.ptr()) && !is_numpy_truth(source))
    return false;
  const int truth = PyObject_IsTrue(source.ptr());
  if (truth < 0) PyErr_Clear();
  out.value = truth > 0;
  return truth >= 0;
}

bool data_type_of(const char* name, DataType& out) noexcept {
  for (const TypeName& row : kTypeNames)
    if (!std::strcmp(row.name, name)) {
      out = row.type;
      return true;
    }
  return false;
}

const char* numpy_name(DataType type) noexcept {
  const TypeName* row = find_type(type);
  return row ? row->name : nullptr;
}

nb::object array_over(const void* data, DataType type, const Dims& dims, nb::handle owner) {
  const TypeName* row = find_type(type);
  if (!row) throw nb::type_error("NumPy has no such type");
  nb::list shape;
  int64_t count = 1;
  for (int32_t i = 0; i < dims.nbDims; ++i) {
    shape.append(dims.d[i]);
    count *= dims.d[i];
  }
  const nb::object dtype = dtype_of(*row);
  const nb::object numpy = nb::module_::import_("numpy");
  const auto bytes = static_cast<size_t>(count * nb::cast<int64_t>(dtype.attr("itemsize")));
  if (bytes == 0) return numpy.attr("empty")(shape, dtype);
  // The array keeps the buffer, and the buffer the owner.
  const nb::object buffer = (nb::module_::import_("ctypes").attr("c_char") * nb::int_(bytes))
                                .attr("from_address")(address_of(data));
  buffer.attr("_owner") = owner;
  return numpy.attr("frombuffer")(buffer, dtype).attr("reshape")(shape);
}

nb::object weights_to_python(const Weights& weights, nb::handle owner) {
  const TypeName* row = find_type(weights.type);
  if (!row || !row->of_numpy) return nb::cast(OwnedWeights{weights, nb::borrow(owner)});
  Dims flat{};
  flat.nbDims = 1;
  flat.d[0] = weights.values ? weights.count : 0;
  return array_over(weights.values, weights.type, flat, owner);
}

nb::object view_of(const void* data, size_t size, bool writable) {
  if (size == 0) return nb::bytes("", 0);
  return nb::steal(PyMemoryView_FromMemory(const_cast<char*>(static_cast<const char*>(data)),
                                           static_cast<Py_ssize_t>(size),
                                           writable ? PyBUF_WRITE : PyBUF_READ));
}

}  // namespace tenon::python
