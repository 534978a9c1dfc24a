#pragma once

/// Tensors of PyTorch's, as far as DLPack does not serve: they are made and described by its
/// Python functions. PyTorch is found where the application has imported it, and never imported.

#include <optional>
#include <string>

#include "common.h"

namespace tenon::python {

class ArrayView;

bool is_torch_tensor(nb::handle array);
/// Raises ValueError for a tensor that requires gradients, which plans have none of. Arrays of
/// other libraries pass.
void refuse_gradient(nb::handle array, const char* name);

struct TorchFacts {
  nb::object extents;
  std::string type_name;
  void* data;
  bool on_gpu, contiguous;
};

/// Nothing for tensors that these facts do not describe.
std::optional<TorchFacts> torch_facts(nb::handle tensor);

/// Makes tensors on a GPU, of memory of PyTorch's pool.
class TorchMaker {
 public:
  /// One where `like` is, a tensor of PyTorch's. `type`: PyTorch's, by torch_type().
  nb::object make(const ArrayView& like, nb::handle extents, nb::handle strides, nb::handle type);

 private:
  void find();
  bool is_current(int32_t gpu) const;

  nb::object slow_;     ///< The public function; invalid until it was looked for.
  nb::object quick_;    ///< For the current GPU alone; None where this PyTorch has none.
  nb::object current_;  ///< Tells that GPU's number.
};

/// PyTorch's type by its name.
nb::object torch_type(const char* name);

}  // namespace tenon::python
