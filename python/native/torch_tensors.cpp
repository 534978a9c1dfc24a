#include "torch_tensors.h"

#include "array_view.h"

namespace tenon::python {
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
  PyObject* const device = PyUnicode_InternFromString("device");
};

const TorchNames& torch_names() {
  static const TorchNames kNames;
  return kNames;
}

nb::object called(PyObject* result) {
  if (!result) throw nb::python_error();
  return nb::steal(result);
}

nb::object attribute(nb::handle object, PyObject* name) {
  return called(PyObject_GetAttr(object.ptr(), name));
}

nb::object call_method(nb::handle object, PyObject* name) {
  return called(PyObject_CallMethodObjArgs(object.ptr(), name, nullptr));
}

bool is_true(nb::handle object, PyObject* name) {
  return attribute(object, name).ptr() == Py_True;
}

/// The attribute at the end of a path, or None.
nb::object find_at(nb::object object, std::initializer_list<const char*> path) {
  for (const char* name : path) object = nb::getattr(object, name, nb::none());
  return object;
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

void refuse_gradient(nb::handle array, const char* name) {
  PyObject* const found = PyObject_GetAttr(array.ptr(), torch_names().requires_grad);
  if (!found) PyErr_Clear();
  Py_XDECREF(found);
  if (found != Py_True) return;
  PyErr_Format(PyExc_ValueError,
               "'%s': the tensor requires gradients, which a plan has none of: use x.detach()",
               name);
  throw nb::python_error();
}

std::optional<TorchFacts> torch_facts(nb::handle tensor) {
  const TorchNames& names = torch_names();
  const bool on_gpu = is_true(tensor, names.is_cuda);
  if ((!on_gpu && !is_true(tensor, names.is_cpu)) || is_true(tensor, names.is_sparse))
    return std::nullopt;
  std::string type_name = nb::cast<std::string>(nb::str(attribute(tensor, names.dtype)));
  type_name.erase(0, sizeof("torch.") - 1);
  return TorchFacts{attribute(tensor, names.shape), std::move(type_name),
                    pointer(nb::cast<Address>(call_method(tensor, names.data_ptr))), on_gpu,
                    call_method(tensor, names.is_contiguous).ptr() == Py_True};
}

/// The quick function is the one that the code which PyTorch's own compiler writes calls: it goes
/// past PyTorch's choice of devices and types, which takes longer than the memory does.
void TorchMaker::find() {
  const nb::object torch =
      nb::borrow(PyDict_GetItem(PyImport_GetModuleDict(), torch_names().module));
  slow_ = torch.attr("empty_strided");
  quick_ = find_at(torch, {"_C", "_dynamo", "guards", "_empty_strided_cuda"});
  current_ = find_at(torch, {"_C", "_cuda_getDevice"});
  if (current_.is_none()) quick_ = nb::none();
}

bool TorchMaker::is_current(int32_t gpu) const {
  const nb::object number = called(PyObject_CallNoArgs(current_.ptr()));
  return PyLong_AsLong(number.ptr()) == gpu;
}

/// With strides: PyTorch takes half the time then, since it need not find out a memory format.
nb::object TorchMaker::make(const ArrayView& like, nb::handle extents, nb::handle strides,
                            nb::handle type) {
  static PyObject* const kKeywords =
      PyTuple_Pack(2, PyUnicode_InternFromString("dtype"), PyUnicode_InternFromString("device"));
  if (!slow_.is_valid()) find();
  // Without DLPack's functions in C the view does not tell the GPU's number.
  if (!quick_.is_none() && like.exchange && is_current(like.gpu)) {
    PyObject* const arguments[] = {extents.ptr(), strides.ptr(), type.ptr()};
    return called(PyObject_Vectorcall(quick_.ptr(), arguments, 3, nullptr));
  }
  const nb::object device = attribute(like.array, torch_names().device);
  PyObject* const arguments[] = {extents.ptr(), strides.ptr(), type.ptr(), device.ptr()};
  return called(PyObject_Vectorcall(slow_.ptr(), arguments, 2, kKeywords));
}

nb::object torch_type(const char* name) {
  return nb::module_::import_("torch").attr(name);
}

}  // namespace tenon::python
