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
  const char* family = code == Code::Float  ? "float"
                       : code == Code::Int  ? "int"
                       : code == Code::UInt ? "uint"
                                            : "";
  return *family ? family + std::to_string(type.bits) : "of another kind";
}

}  // namespace

ArrayView::ArrayView(nb::handle array, const char* name) {
  if (!read_buffer(array) && !read_torch(array, name) && !read_dlpack(array) &&
      !read_interface(array, "__cuda_array_interface__", true) &&
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

}  // namespace

/// PyTorch's `__dlpack__` is Python code that takes longer than a small network: its attributes say
/// the same. Tensors that these do not describe (sparse ones, other devices) are left to it.
bool ArrayView::read_torch(nb::handle array, const char* name) {
  if (!is_torch_tensor(array)) return false;
  const TorchNames& names = torch_names();
  if (is_true(array, names.requires_grad)) {
    PyErr_Format(PyExc_ValueError,
                 "'%s': the tensor requires gradients, which a plan has none of: use x.detach()",
                 name);
    throw nb::python_error();
  }
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
  if (is_torch_tensor(array))
    return pointer(nb::cast<Address>(call_method(array, torch_names().data_ptr)));
  return ArrayView(array, name).data;
}

bool ArrayView::read_dlpack(nb::handle array) {
  if (!nb::hasattr(array, "__dlpack__")) return false;
  if (!nb::try_cast(array, tensor_)) return false;
  if (tensor_.ndim() > static_cast<size_t>(Dims::MAX_DIMS))
    throw nb::value_error("arrays have at most 8 axes");
  data = const_cast<void*>(tensor_.data());
  shape.nbDims = static_cast<int32_t>(tensor_.ndim());
  int64_t step = 1;
  for (int32_t i = shape.nbDims - 1; i >= 0; --i) {
    shape.d[i] = static_cast<int64_t>(tensor_.shape(static_cast<size_t>(i)));
    contiguous = contiguous && (shape.d[i] == 1 || tensor_.stride(static_cast<size_t>(i)) == step);
    step *= shape.d[i];
  }
  contiguous = contiguous || step == 0;
  on_gpu = tensor_.device_type() == nb::device::cuda::value;
  type_name = name_of_dlpack(tensor_.dtype());
  return true;
}

void ArrayView::read_extents(nb::handle extents) {
  if (!read_dims(extents, shape)) throw nb::value_error("arrays have at most 8 axes");
}

bool ArrayView::read_interface(nb::handle array, const char* attribute, bool gpu) {
  const nb::object found = nb::getattr(array, attribute, nb::none());
  if (!nb::isinstance<nb::dict>(found)) return false;
  kept_ = found;
  data = pointer(nb::cast<Address>(found["data"][0]));
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
