#include "array_view.h"

#include <cstring>

namespace tenon::python {
namespace {

struct Format {
  const char* code;  ///< Of the struct module.
  size_t bytes;
  const char* name;
};

constexpr Format kFormats[] = {
    {"f", 4, "float32"}, {"d", 8, "float64"}, {"e", 2, "float16"}, {"b", 1, "int8"},
    {"B", 1, "uint8"},   {"?", 1, "bool"},    {"h", 2, "int16"},   {"H", 2, "uint16"},
    {"i", 4, "int32"},   {"I", 4, "uint32"},  {"l", 8, "int64"},   {"q", 8, "int64"},
    {"L", 8, "uint64"},  {"Q", 8, "uint64"},
};

const char* name_of_format(const char* code, size_t bytes) {
  if (code[0] == '<' || code[0] == '=' || code[0] == '@') ++code;
  for (const Format& row : kFormats)
    if (row.bytes == bytes && !std::strcmp(row.code, code)) return row.name;
  return "of another format";
}

std::string name_of_dlpack(nb::dlpack::dtype type) {
  using Code = nb::dlpack::dtype_code;
  const auto code = static_cast<Code>(type.code);
  if (code == Code::Bool) return "bool";
  if (code == Code::Bfloat) return "bfloat16";
  if (code == Code::Float8_E4M3FN) return "float8_e4m3fn";
  const char* family = code == Code::Float  ? "float"
                       : code == Code::Int  ? "int"
                       : code == Code::UInt ? "uint"
                                            : "";
  return *family ? family + std::to_string(type.bits) : "of another kind";
}

}  // namespace

ArrayView::ArrayView(nb::handle array, const char* name) {
  if (!read_buffer(array) && !read_exchanged(array, name) && !read_torch(array, name) &&
      !read_dlpack(array) && !read_interface(array, "__cuda_array_interface__", true) &&
      !read_interface(array, "__array_interface__", false)) {
    PyErr_Format(PyExc_TypeError,
                 "'%s': %R is no array (buffer protocol, DLPack or CUDA array interface)", name,
                 reinterpret_cast<PyObject*>(Py_TYPE(array.ptr())));
    throw nb::python_error();
  }
  DataType known;
  if (data_type_of(type_name.c_str(), known)) type = known;
}

ArrayView::~ArrayView() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

bool ArrayView::read_buffer(nb::handle array) {
  if (!PyObject_CheckBuffer(array.ptr())) return false;
  if (PyObject_GetBuffer(array.ptr(), &buffer_, PyBUF_STRIDES | PyBUF_FORMAT)) {
    PyErr_Clear();  // Types of ml_dtypes have no format: the array interface has their address.
    return false;
  }
  has_buffer_ = true;
  if (buffer_.ndim > Dims::MAX_DIMS) throw nb::value_error("arrays have at most 8 axes");
  data = buffer_.buf;
  read_only = buffer_.readonly != 0;
  shape.nbDims = buffer_.ndim;
  for (int i = 0; i < buffer_.ndim; ++i) shape.d[i] = buffer_.shape[i];
  type_name =
      name_of_format(buffer_.format ? buffer_.format : "B", static_cast<size_t>(buffer_.itemsize));
  contiguous = PyBuffer_IsContiguous(&buffer_, 'C') == 1;
  return true;
}

namespace {

/// Names of PyTorch's attributes as Python's strings, made once.
struct TorchNames {
  PyObject* const module = PyUnicode_InternFromString("torch");
  PyObject* const tensor = PyUnicode_InternFromString("Tensor");
  PyObject* const requires_grad = PyUnicode_InternFromString("requires_grad");
  PyObject* const is_cuda = PyUnicode_InternFromString("is_cuda");
  PyObject* const is_cpu = PyUnicode_InternFromString("is_cpu");
  PyObject* const is_sparse = PyUnicode_InternFromString("is_sparse");
  PyObject* const shape = PyUnicode_InternFromString("shape");
  PyObject* const dtype = PyUnicode_InternFromString("dtype");
  PyObject* const is_contiguous = PyUnicode_InternFromString("is_contiguous");
  PyObject* const data_ptr = PyUnicode_InternFromString("data_ptr");
  PyObject* const empty_strided = PyUnicode_InternFromString("empty_strided");
  PyObject* const device = PyUnicode_InternFromString("device");
};

const TorchNames& torch_names() {
  static const TorchNames kNames;
  return kNames;
}

nb::object attribute(nb::handle object, PyObject* name) {
  PyObject* const found = PyObject_GetAttr(object.ptr(), name);
  if (!found) throw nb::python_error();
  return nb::steal(found);
}

nb::object call_method(nb::handle object, PyObject* name) {
  PyObject* const result = PyObject_CallMethodObjArgs(object.ptr(), name, nullptr);
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

bool is_true(nb::handle object, PyObject* name) {
  return attribute(object, name).ptr() == Py_True;
}

[[noreturn]] void refuse_gradient(const char* name) {
  PyErr_Format(PyExc_ValueError,
               "'%s': the tensor requires gradients, which a plan has none of: use x.detach()",
               name);
  throw nb::python_error();
}

/// Other libraries' arrays have no such attribute.
bool has_gradient(nb::handle array) {
  PyObject* const found = PyObject_GetAttr(array.ptr(), torch_names().requires_grad);
  if (!found) PyErr_Clear();
  Py_XDECREF(found);
  return found == Py_True;
}

}  // namespace

bool is_torch_tensor(nb::handle array) {
  const TorchNames& names = torch_names();
  PyObject* const torch = PyDict_GetItem(PyImport_GetModuleDict(), names.module);
  PyObject* const type = torch ? PyObject_GetAttr(torch, names.tensor) : nullptr;
  if (!type) {
    PyErr_Clear();
    return false;
  }
  const nb::object kept = nb::steal(type);
  return PyType_Check(type) &&
         PyType_IsSubtype(Py_TYPE(array.ptr()), reinterpret_cast<PyTypeObject*>(type));
}

bool ArrayView::read_exchanged(nb::handle array, const char* name) {
  exchange = exchange_of(array);
  if (!exchange) return false;
  if (has_gradient(array)) refuse_gradient(name);
  nb::dlpack::dltensor tensor;
  const bool read = read_exchange(*exchange, array, tensor);
  const int32_t where = tensor.device.device_type;
  on_gpu = read && where == nb::device::cuda::value;
  if (!read || (!on_gpu && where != nb::device::cpu::value)) {
    exchange = nullptr;
    return false;
  }
  gpu = tensor.device.device_id;
  read_tensor(tensor);
  return true;
}

/// PyTorch's `__dlpack__` is Python code that takes longer than a small network: its attributes say
/// the same. Tensors that these do not describe (sparse ones, other devices) are left to it.
bool ArrayView::read_torch(nb::handle array, const char* name) {
  if (!is_torch_tensor(array)) return false;
  const TorchNames& names = torch_names();
  if (is_true(array, names.requires_grad)) refuse_gradient(name);
  on_gpu = is_true(array, names.is_cuda);
  if ((!on_gpu && !is_true(array, names.is_cpu)) || is_true(array, names.is_sparse)) return false;
  read_extents(attribute(array, names.shape));
  contiguous = call_method(array, names.is_contiguous).ptr() == Py_True;
  const nb::object dtype = attribute(array, names.dtype);
  type_name = nb::cast<std::string>(nb::str(dtype));
  type_name.erase(0, sizeof("torch.") - 1);
  data = pointer(nb::cast<Address>(call_method(array, names.data_ptr)));
  return true;
}

void* address_of_own(nb::handle array, const char* name) {
  nb::dlpack::dltensor tensor;
  const Exchange* exchange = exchange_of(array);
  if (exchange && read_exchange(*exchange, array, tensor))
    return static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  if (is_torch_tensor(array))
    return pointer(nb::cast<Address>(call_method(array, torch_names().data_ptr)));
  return ArrayView(array, name).data;
}

nb::object torch_type(const char* name) {
  return nb::module_::import_("torch").attr(name);
}

/// With strides: PyTorch takes half the time then, since it need not find out a memory format.
nb::object torch_empty(nb::handle like, nb::handle extents, nb::handle strides, nb::handle dtype) {
  static PyObject* const kKeywords =
      PyTuple_Pack(2, PyUnicode_InternFromString("dtype"), PyUnicode_InternFromString("device"));
  const TorchNames& names = torch_names();
  const nb::object make =
      attribute(PyDict_GetItem(PyImport_GetModuleDict(), names.module), names.empty_strided);
  const nb::object device = attribute(like, names.device);
  PyObject* const arguments[] = {extents.ptr(), strides.ptr(), dtype.ptr(), device.ptr()};
  PyObject* const made = PyObject_Vectorcall(make.ptr(), arguments, 2, kKeywords);
  if (!made) throw nb::python_error();
  return nb::steal(made);
}

bool ArrayView::read_dlpack(nb::handle array) {
  if (!nb::hasattr(array, "__dlpack__")) return false;
  if (!nb::try_cast(array, tensor_)) return false;
  nb::dlpack::dltensor tensor{const_cast<void*>(tensor_.data_handle()),
                              {tensor_.device_type(), tensor_.device_id()},
                              static_cast<int32_t>(tensor_.ndim()),
                              tensor_.dtype(),
                              const_cast<int64_t*>(tensor_.shape_ptr()),
                              const_cast<int64_t*>(tensor_.stride_ptr()),
                              tensor_.byte_offset()};
  on_gpu = tensor_.device_type() == nb::device::cuda::value;
  read_tensor(tensor);
  return true;
}

void ArrayView::read_tensor(const nb::dlpack::dltensor& tensor) {
  if (tensor.ndim > Dims::MAX_DIMS) throw nb::value_error("arrays have at most 8 axes");
  data = static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  shape.nbDims = tensor.ndim;
  int64_t step = 1;
  for (int32_t i = shape.nbDims - 1; i >= 0; --i) {
    shape.d[i] = tensor.shape[i];
    // Without strides the elements lie next to each other.
    contiguous = contiguous && (shape.d[i] == 1 || !tensor.strides || tensor.strides[i] == step);
    step *= shape.d[i];
  }
  contiguous = contiguous || step == 0;
  type_name = name_of_dlpack(tensor.dtype);
}

void ArrayView::read_extents(nb::handle extents) {
  if (!read_dims(extents, shape)) throw nb::value_error("arrays have at most 8 axes");
}

bool ArrayView::read_interface(nb::handle array, const char* attribute, bool gpu) {
  const nb::object found = nb::getattr(array, attribute, nb::none());
  if (!nb::isinstance<nb::dict>(found)) return false;
  kept_ = found;
  data = pointer(nb::cast<Address>(found["data"][0]));
  read_only = nb::cast<bool>(found["data"][1]);
  read_extents(found["shape"]);
  const nb::object strides = nb::getattr(found, "get")("strides");
  contiguous = strides.is_none();
  on_gpu = gpu;
  const std::string code = nb::cast<std::string>(found["typestr"]);
  if (code.size() < 3) return false;
  // Types of ml_dtypes are void or of a letter of their own: their dtype has the name.
  const nb::object dtype = nb::getattr(array, "dtype", nb::none());
  type_name =
      nb::hasattr(dtype, "name") ? nb::cast<std::string>(dtype.attr("name")) : std::string();
  if (!type_name.empty()) return true;
  const char letter = code[1];
  const auto bits = std::to_string(8 * std::stoi(code.substr(2)));
  type_name = letter == 'f'   ? "float" + bits
              : letter == 'i' ? "int" + bits
              : letter == 'u' ? "uint" + bits
              : letter == 'b' ? "bool"
                              : "of another kind";
  return true;
}

}  // namespace tenon::python
