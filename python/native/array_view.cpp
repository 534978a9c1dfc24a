#include "array_view.h"

#include <cstring>

#include "torch_tensors.h"

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
  return nullptr;
}

/// As the array's library prints it, byte order and all.
std::string dtype_text(nb::handle array) {
  const nb::object dtype = nb::getattr(array, "dtype", nb::none());
  return dtype.is_none() ? "of another format" : nb::cast<std::string>(nb::str(dtype));
}

using Code = nb::dlpack::dtype_code;

struct DlpackType {
  Code code;
  uint8_t bits;
  DataType type;
};

constexpr DlpackType kDlpackTypes[] = {
    {Code::Float, 32, DataType::kFLOAT},      {Code::Float, 16, DataType::kHALF},
    {Code::Int, 64, DataType::kINT64},        {Code::Int, 32, DataType::kINT32},
    {Code::Bfloat, 16, DataType::kBF16},      {Code::Int, 8, DataType::kINT8},
    {Code::UInt, 8, DataType::kUINT8},        {Code::Bool, 8, DataType::kBOOL},
    {Code::Float8_E4M3FN, 8, DataType::kFP8},
};

std::optional<DataType> type_of_dlpack(nb::dlpack::dtype type) {
  for (const DlpackType& row : kDlpackTypes)
    if (type.lanes == 1 && type.bits == row.bits && type.code == static_cast<uint8_t>(row.code))
      return row.type;
  return std::nullopt;
}

/// Empty where the type's own library has to say it.
std::string name_of_dlpack(nb::dlpack::dtype type) {
  const auto code = static_cast<Code>(type.code);
  const char* family = code == Code::Float     ? "float"
                       : code == Code::Int     ? "int"
                       : code == Code::UInt    ? "uint"
                       : code == Code::Complex ? "complex"
                                               : "";
  return *family ? family + std::to_string(type.bits) : "";
}

}  // namespace

void ArrayType::look_at(nb::handle array) {
  auto* const found = reinterpret_cast<PyObject*>(Py_TYPE(array.ptr()));
  if (found == type.ptr()) return;
  type = nb::borrow(found);
  exchange = exchange_of(array);
  is_torch = is_torch_tensor(array);
}

ArrayView::ArrayView(nb::handle array, const char* name, ArrayType& type) : array(array) {
  type.look_at(array);
  is_torch = type.is_torch;
  exchange = type.exchange;
  if (!read_buffer(array) && !read_exchanged(array, name) && !read_torch(array, name) &&
      !read_dlpack(array) && !read_interface(array, "__cuda_array_interface__", true) &&
      !read_interface(array, "__array_interface__", false)) {
    PyErr_Format(PyExc_TypeError,
                 "'%s': %R is no array (buffer protocol, DLPack or CUDA array interface)", name,
                 reinterpret_cast<PyObject*>(Py_TYPE(array.ptr())));
    throw nb::python_error();
  }
  DataType known;
  if (!this->type && data_type_of(type_name_.c_str(), known)) this->type = known;
}

ArrayView::~ArrayView() {
  if (has_buffer_) PyBuffer_Release(&buffer_);
}

std::string ArrayView::type_text() const {
  return type ? numpy_name(*type) : type_name_;
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
  const char* const known =
      name_of_format(buffer_.format ? buffer_.format : "B", static_cast<size_t>(buffer_.itemsize));
  type_name_ = known ? known : dtype_text(array);
  contiguous = PyBuffer_IsContiguous(&buffer_, 'C') == 1;
  return true;
}

bool ArrayView::read_exchanged(nb::handle array, const char* name) {
  if (!exchange) return false;
  refuse_gradient(array, name);
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
  if (!is_torch) return false;
  refuse_gradient(array, name);
  const std::optional<TorchFacts> facts = torch_facts(array);
  if (!facts) return false;
  on_gpu = facts->on_gpu;
  contiguous = facts->contiguous;
  data = facts->data;
  type_name_ = facts->type_name;
  read_extents(facts->extents);
  return true;
}

void* address_of_own(nb::handle array, const char* name, ArrayType& type) {
  type.look_at(array);
  nb::dlpack::dltensor tensor;
  if (type.exchange && read_exchange(*type.exchange, array, tensor))
    return static_cast<std::byte*>(tensor.data) + tensor.byte_offset;
  return ArrayView(array, name, type).data;
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
  type = type_of_dlpack(tensor.dtype);
  if (type) return;
  type_name_ = name_of_dlpack(tensor.dtype);
  if (type_name_.empty()) type_name_ = dtype_text(array);
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
  type_name_ =
      nb::hasattr(dtype, "name") ? nb::cast<std::string>(dtype.attr("name")) : std::string();
  if (!type_name_.empty()) return true;
  const char letter = code[1];
  const auto bits = std::to_string(8 * std::stoi(code.substr(2)));
  type_name_ = letter == 'f'   ? "float" + bits
               : letter == 'i' ? "int" + bits
               : letter == 'u' ? "uint" + bits
               : letter == 'b' ? "bool"
                               : "of another kind";
  return true;
}

}  // namespace tenon::python
