#pragma once

/// Arrays of any library: those with the buffer protocol (NumPy), with DLPack (PyTorch, JAX, CuPy),
/// or with the CUDA array interface.

#include <nanobind/ndarray.h>

#include <optional>

#include "common.h"
#include "exchange.h"

namespace tenon::python {

/// Where an array's elements are. Movable by construction only: it holds their owner.
class ArrayView {
 public:
  /// Raises TypeError where `array` is nothing of the kind. `name` is for messages.
  ArrayView(nb::handle array, const char* name);
  ArrayView(const ArrayView&) = delete;
  ~ArrayView();

  void* data = nullptr;
  Dims shape{};
  std::optional<DataType>
      type;  ///< Nothing where the surface has no such type: `type_name` says which.
  std::string type_name;
  bool on_gpu = false;
  int32_t gpu = 0;  ///< Its number, where the array's library told.
  bool contiguous = true;
  bool read_only = false;              ///< As far as the array's library tells.
  const Exchange* exchange = nullptr;  ///< Of the array's library, where it was read by it.

 private:
  bool read_buffer(nb::handle array);
  bool read_exchanged(nb::handle array, const char* name);
  void read_tensor(const nb::dlpack::dltensor& tensor);
  bool read_torch(nb::handle array, const char* name);
  bool read_dlpack(nb::handle array);
  bool read_interface(nb::handle array, const char* attribute, bool gpu);
  void read_extents(nb::handle extents);

  Py_buffer buffer_{};
  bool has_buffer_ = false;
  nb::ndarray<nb::ro> tensor_;
  nb::object kept_;
};

/// The address of an array on the GPU that was made for an output: nothing else of it is in
/// question.
void* address_of_own(nb::handle array, const char* name);

/// Whether an array is a tensor of PyTorch's.
bool is_torch_tensor(nb::handle array);
/// PyTorch's type by its name. PyTorch must have been imported.
nb::object torch_type(const char* name);
/// A new tensor where `like`, one of PyTorch's, is.
nb::object torch_empty(nb::handle like, nb::handle extents, nb::handle strides, nb::handle dtype);

}  // namespace tenon::python
