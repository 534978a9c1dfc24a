#pragma once

/// Arrays of any library: those with the buffer protocol (NumPy), with DLPack (PyTorch, JAX, CuPy),
/// or with the CUDA array interface.

#include <nanobind/ndarray.h>

#include <optional>

#include "common.h"
#include "exchange.h"

namespace tenon::python {

/// Facts of an array's type, kept for the next array in its place, whose type is nearly always the
/// same.
struct ArrayType {
  nb::object type;                     ///< Held, so that no other type gets its address.
  const Exchange* exchange = nullptr;  ///< Null where its library has none.
  bool is_torch = false;               ///< A tensor of PyTorch's.

  void look_at(nb::handle array);
};

/// Where an array's elements are. It holds their owner: arrays that DLPack hands over may live no
/// longer than this.
class ArrayView {
 public:
  /// Raises TypeError where `array` is nothing of the kind. `name` is for messages.
  ArrayView(nb::handle array, const char* name, ArrayType& type);
  ArrayView(const ArrayView&) = delete;
  ~ArrayView();

  /// NumPy's name of the elements' type, or another one where the surface has no such type.
  std::string type_text() const;

  nb::handle array;
  bool is_torch;
  void* data = nullptr;
  Dims shape{};
  std::optional<DataType> type;  ///< Nothing where the surface has no such type.
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

  std::string type_name_;  ///< As the array's library calls it, where `type` was not found at once.
  Py_buffer buffer_{};
  bool has_buffer_ = false;
  nb::ndarray<nb::ro> tensor_;
  nb::object kept_;
};

/// The address of an array on the GPU that was made for an output: nothing else of it is in
/// question.
void* address_of_own(nb::handle array, const char* name, ArrayType& type);

}  // namespace tenon::python
