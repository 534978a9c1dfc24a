#include "exchange.h"

namespace tenon::python {

struct Exchange {
  struct Version {
    uint32_t major, minor;
  } version;
  const Exchange* previous;
  int (*allocate)(nb::dlpack::dltensor*, void**, void*, void (*)(void*, const char*, const char*));
  int (*from_object)(void*, void**);
  int (*to_object)(void*, void**);
  int (*view_of)(void*, nb::dlpack::dltensor*);
  int (*current_stream)(int32_t device_type, int32_t device, void** stream);
};

namespace {

constexpr uint32_t kMajor = 1;

PyObject* attribute_name() {
  static PyObject* const kName = PyUnicode_InternFromString("__dlpack_c_exchange_api__");
  return kName;
}

}  // namespace

const Exchange* exchange_of(nb::handle array) noexcept {
  PyObject* const capsule =
      PyObject_GetAttr(reinterpret_cast<PyObject*>(Py_TYPE(array.ptr())), attribute_name());
  // The type keeps the capsule, and the library what is in it.
  const auto* found =
      capsule ? static_cast<const Exchange*>(PyCapsule_GetPointer(capsule, "dlpack_exchange_api"))
              : nullptr;
  Py_XDECREF(capsule);
  if (!found) PyErr_Clear();
  while (found && found->version.major != kMajor) found = found->previous;
  return found;
}

bool read_exchange(const Exchange& exchange, nb::handle array, nb::dlpack::dltensor& out) noexcept {
  if (exchange.view_of && exchange.view_of(array.ptr(), &out) == 0) return true;
  PyErr_Clear();
  return false;
}

std::optional<Address> exchange_stream(const Exchange& exchange, int32_t gpu) noexcept {
  void* stream = nullptr;
  if (exchange.current_stream(nb::device::cuda::value, gpu, &stream) == 0)
    return address_of(stream);
  PyErr_Clear();
  return std::nullopt;
}

}  // namespace tenon::python
