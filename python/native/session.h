#pragma once

/// Runs of an engine with arrays of any library.

#include <atomic>
#include <deque>
#include <memory>
#include <optional>
#include <string>

#include "array_view.h"
#include "tenon/device.h"
#include "torch_tensors.h"

namespace tenon::python {

/// Raises an exception of a kind of Python's.
[[noreturn]] inline void refuse(PyObject* kind, const std::string& text) {
  PyErr_SetString(kind, text.c_str());
  throw nb::python_error();
}
/// "1 input", "2 inputs".
inline std::string counted(size_t count, const char* noun) {
  return std::to_string(count) + ' ' + noun + (count == 1 ? "" : "s");
}

/// Memory for an output whose extents a run finds out.
class GrowingOutput final : public IOutputAllocator {
 public:
  explicit GrowingOutput(IGpu* gpu) : gpu_(gpu) {}
  ~GrowingOutput() override { release(); }
  void* reallocateOutput(const char* name, void* current, uint64_t size,
                         uint64_t alignment) noexcept override;
  void notifyShape(const char* /*name*/, const Dims& dims) noexcept override { shape = dims; }
  void* data() const { return data_; }
  Dims shape{};

 private:
  void release() noexcept;
  IGpu* gpu_;
  void* data_ = nullptr;
  uint64_t capacity_ = 0;
};

/// An input or output of the engine.
struct Slot {
  std::string name;
  DataType type;
  Dims shape{-1, {}};      ///< Inputs': as set last. Outputs': as the last shapes have it.
  nb::object dtype;        ///< NumPy's.
  nb::object extents;      ///< `shape` as a tuple.
  nb::object strides;      ///< Of elements that lie next to each other.
  nb::object torch_dtype;  ///< PyTorch's, once an output was made as its tensor.
  ArrayType array_type;    ///< Of the last array.
  nb::object kept;         ///< An output's array that the next runs of this kind() write.
  PyTypeObject* kept_kind = nullptr;
  void* staging = nullptr;  ///< Memory of the GPU for arrays of the host.
  size_t staging_bytes = 0;
  std::unique_ptr<GrowingOutput> growing;  ///< Where shapes are data-dependent.
};

/// One thread's runs of an engine, which Python calls. Calls from two threads at once are refused.
class Session {
 public:
  /// The part that is in Python.
  struct Helpers {
    nb::object fail;            ///< `fail(text)` raises the logged error.
    nb::object device_array;    ///< `device_array(like, extents, type)` makes an array on the GPU.
    nb::object current_stream;  ///< `current_stream(inputs)` is the caller's.
    nb::object order;    ///< `order(inputs, named)`: arrays in the plan's order, a tuple of them.
    nb::object several;  ///< `several(arrays)`: the results of a plan with several outputs.
  };

  Session(nb::object engine, nb::object context, nb::object gpu, Helpers helpers, bool reuse);
  Session(const Session&) = delete;
  ~Session();

  /// `session(*inputs, out=None, stream=None, **named)`: a tuple and a dictionary or null. `out`:
  /// an array to write into, or several in the plan's order or by name, where None has one made;
  /// `stream`: None for the one that the inputs' library works on.
  nb::object call(PyObject* inputs, PyObject* named);

 private:
  class Busy;
  /// The arguments of a call by keywords.
  struct Keywords {
    nb::object out, stream, inputs;  ///< Invalid: not given. `inputs`: a dictionary of the rest.
  };
  static Keywords keywords_of(PyObject* named);
  void take_given(nb::handle out);
  [[noreturn]] void refuse_names(nb::handle out);
  void take_inputs(nb::handle inputs, nb::handle stream);
  nb::object results();
  void find_stream(nb::handle stream, nb::handle inputs);
  void set_input(Slot& slot, const ArrayView& view);
  void refresh_outputs();
  nb::object make_output(Slot& slot, nb::handle given);
  nb::object kept_output(Slot& slot);
  nb::object new_output(Slot& slot);
  void bind_output(Slot& slot, const ArrayView& view);
  static bool fits(const Slot& slot, const ArrayView& view);
  [[noreturn]] static void refuse_output(const Slot& slot, const ArrayView& view);
  nb::object take_output(Slot& slot, nb::object array, bool made_here);
  /// The type of the GPU's arrays of this run; null for the host's.
  PyTypeObject* kind() const { return like_ ? Py_TYPE(like_->array.ptr()) : nullptr; }
  void* staged(Slot& slot, size_t bytes);
  void bind(Slot& slot, void* data);
  [[noreturn]] void fail(const char* what);

  nb::object engine_, context_object_, gpu_object_, empty_;
  Helpers python_;
  const bool reuse_;
  IExecutionContext* context_;
  IGpu* gpu_ = nullptr;
  std::vector<Slot> inputs_, outputs_;
  TorchMaker torch_;
  // Of the run that is on; members, so that runs take no memory for them.
  std::deque<ArrayView> views_;      ///< Of the inputs.
  std::vector<nb::object> given_;    ///< Arrays for the outputs, where the caller gave some.
  std::vector<nb::object> made_;     ///< Arrays of the outputs; None where a run finds the extents.
  const ArrayView* like_ = nullptr;  ///< An input on the GPU: outputs are to be its kind.
  cudaStream_t stream_ = nullptr;    ///< Of this run.
  bool shapes_changed_ = true;
  bool must_wait_ = false;  ///< This run has copies that must end before it returns.
  std::atomic<bool> busy_{false};
};

}  // namespace tenon::python
