#pragma once

/// Runs of an engine with arrays of any library.

#include <atomic>
#include <deque>
#include <memory>
#include <optional>

#include "common.h"
#include "tenon/device.h"

namespace tenon::python {

class ArrayView;

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
  Dims shape{-1, {}};       ///< Inputs': as set last. Outputs': as the last shapes have it.
  nb::object dtype;         ///< NumPy's.
  nb::object extents;       ///< `shape` as a tuple.
  nb::object strides;       ///< Of elements that lie next to each other.
  nb::object torch_dtype;   ///< PyTorch's, once an output was made as its tensor.
  void* staging = nullptr;  ///< Memory of the GPU for arrays of the host.
  size_t staging_bytes = 0;
  std::unique_ptr<GrowingOutput> growing;  ///< Where shapes are data-dependent.
};

/// One thread's runs of an engine. Calls from two threads at once are refused.
class Session {
 public:
  /// `fail` raises the logged error; `device_array(like, extents, type)` makes an array on the GPU;
  /// `current_stream(inputs)` is the caller's.
  Session(nb::object engine, nb::object context, nb::object gpu, nb::object fail,
          nb::object device_array, nb::object current_stream);
  Session(const Session&) = delete;
  ~Session();

  /// Inputs in the engine's order; `outputs` are arrays to write into, None, or missing. `stream`:
  /// None for the one that the inputs' library works on.
  nb::object run(nb::handle inputs, nb::handle outputs, nb::handle stream);
  /// Which outputs have extents that the shapes of the last run's inputs decided.
  std::vector<bool> fixed() const;

 private:
  nb::object take_inputs(nb::handle inputs, nb::handle stream);
  void find_stream(nb::handle stream, nb::handle inputs, const std::deque<ArrayView>& views);
  void set_input(Slot& slot, const ArrayView& view);
  void refresh_outputs();
  nb::object make_output(Slot& slot, nb::handle given, nb::handle like);
  nb::object new_output(Slot& slot, nb::handle like);
  nb::object take_output(Slot& slot, nb::object array, bool made_here, nb::handle like);
  void* staged(Slot& slot, size_t bytes);
  void bind(Slot& slot, void* data);
  [[noreturn]] void fail(const char* what);

  nb::object engine_, context_object_, gpu_object_, fail_, device_array_, current_stream_, empty_;
  IExecutionContext* context_;
  IGpu* gpu_ = nullptr;
  std::vector<Slot> inputs_, outputs_;
  cudaStream_t stream_ = nullptr;  ///< Of this run.
  bool shapes_changed_ = true;
  bool must_wait_ = false;  ///< This run has copies that must end before it returns.
  std::atomic<bool> busy_{false};
};

}  // namespace tenon::python
