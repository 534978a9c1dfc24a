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

/// PyTorch's `__dlpack__` is Python code that takes longer than a small network: its attributes say
/// the same. Tensors that these do not describe (sparse ones, other devices) are left to it.
bool ArrayView::read_torch(nb::handle array, const char* name) {
  PyObject* const torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  if (!torch) return false;
  const nb::object tensor = nb::getattr(nb::handle(torch), "Tensor", nb::none());
  if (!PyType_Check(tensor.ptr()) ||
      !PyType_IsSubtype(Py_TYPE(array.ptr()), reinterpret_cast<PyTypeObject*>(tensor.ptr())))
    return false;
  if (array.attr("requires_grad").ptr() == Py_True) {
    PyErr_Format(PyExc_ValueError,
                 "'%s': the tensor requires gradients, which a plan has none of: use x.detach()",
                 name);
    throw nb::python_error();
  }
  on_gpu = array.attr("is_cuda").ptr() == Py_True;
  if (!on_gpu && array.attr("is_cpu").ptr() != Py_True) return false;
  if (array.attr("is_sparse").ptr() == Py_True) return false;
  read_extents(array.attr("shape"));
  contiguous = array.attr("is_contiguous")().ptr() == Py_True;
  const nb::object dtype = array.attr("dtype");
  type_name = nb::cast<std::string>(nb::str(dtype));
  type_name.erase(0, sizeof("torch.") - 1);
  data = pointer(nb::cast<Address>(array.attr("data_ptr")()));
  return true;
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
