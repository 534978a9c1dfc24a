#include "session.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>

#include "array_view.h"

namespace tenon::python {
namespace {

bool same(const Dims& left, const Dims& right) {
  return left.nbDims == right.nbDims &&
         (left.nbDims <= 0 ||
          !std::memcmp(left.d, right.d, sizeof(int64_t) * static_cast<size_t>(left.nbDims)));
}

bool known(const Dims& dims) {
  for (int32_t i = 0; i < dims.nbDims; ++i)
    if (dims.d[i] < 0) return false;
  return dims.nbDims >= 0;
}

nb::object tuple_of(const Dims& dims) {
  nb::list list;
  for (int32_t i = 0; i < dims.nbDims; ++i) list.append(dims.d[i]);
  return nb::tuple(list);
}

Dims strides_of(const Dims& dims) {
  Dims strides = dims;
  int64_t step = 1;
  for (int32_t i = dims.nbDims - 1; i >= 0; --i) {
    strides.d[i] = step;
    step *= std::max<int64_t>(dims.d[i], 1);
  }
  return strides;
}

std::string text_of(const Dims& dims) {
  return nb::cast<std::string>(nb::str(tuple_of(dims)));
}

size_t bytes_of(const Dims& dims, DataType type) {
  size_t count = 1;
  for (int32_t i = 0; i < dims.nbDims; ++i) count *= static_cast<size_t>(dims.d[i]);
  switch (type) {
    case DataType::kINT64:
      return count * 8;
    case DataType::kFLOAT:
    case DataType::kINT32:
      return count * 4;
    case DataType::kHALF:
    case DataType::kBF16:
      return count * 2;
    case DataType::kINT4:
    case DataType::kFP4:
      return (count + 1) / 2;
    default:
      return count;
  }
}

[[noreturn]] void refuse(PyObject* kind, const std::string& text) {
  PyErr_SetString(kind, text.c_str());
  throw nb::python_error();
}

nb::object numpy_dtype(DataType type) {
  const char* name = numpy_name(type);
  Dims one{1, {1}};
  if (!name) refuse(PyExc_TypeError, "NumPy has no such type");
  // An array's type, so that types of ml_dtypes are found in the one place that knows them.
  const int64_t zero = 0;
  return array_over(&zero, type, one, nb::none()).attr("dtype");
}

/// Says who uses a session.
class Busy {
 public:
  explicit Busy(std::atomic<bool>& flag) : flag_(flag) {
    if (flag_.exchange(true))
      refuse(PyExc_RuntimeError, "the session is in use: each thread needs one of its own");
  }
  ~Busy() { flag_ = false; }
  Busy(const Busy&) = delete;

 private:
  std::atomic<bool>& flag_;
};

}  // namespace

void GrowingOutput::release() noexcept {
  if (!data_) return;
  if (gpu_)
    gpu_->destroy(data_);
  else
    std::free(data_);
  data_ = nullptr;
  capacity_ = 0;
}

void* GrowingOutput::reallocateOutput(const char*, void*, uint64_t size, uint64_t) noexcept {
  if (data_ && size <= capacity_) return data_;
  release();
  const uint64_t wanted = (std::max<uint64_t>(size, 1) + 255) / 256 * 256;
  data_ = gpu_ ? gpu_->allocate(wanted) : std::aligned_alloc(256, wanted);
  capacity_ = data_ ? wanted : 0;
  return data_;
}

Session::Session(nb::object engine, nb::object context, nb::object gpu, nb::object fail,
                 nb::object device_array, nb::object current_stream)
    : engine_(std::move(engine)),
      context_object_(std::move(context)),
      gpu_object_(std::move(gpu)),
      fail_(std::move(fail)),
      device_array_(std::move(device_array)),
      current_stream_(std::move(current_stream)),
      empty_(nb::module_::import_("numpy").attr("empty")),
      context_(nb::cast<IExecutionContext*>(context_object_)) {
  if (!gpu_object_.is_none()) gpu_ = nb::cast<IGpu*>(gpu_object_);
  const auto& surface = *nb::cast<ICudaEngine*>(engine_);
  for (int32_t i = 0; i < surface.getNbIOTensors(); ++i) {
    const char* name = surface.getIOTensorName(i);
    Slot slot{name, surface.getTensorDataType(name)};
    const bool is_input = surface.getTensorIOMode(name) == TensorIOMode::kINPUT;
    if (!is_input) slot.dtype = numpy_dtype(slot.type);
    (is_input ? inputs_ : outputs_).push_back(std::move(slot));
  }
}

Session::~Session() {
  if (!gpu_) return;
  for (auto* slots : {&inputs_, &outputs_})
    for (Slot& slot : *slots)
      if (slot.staging) gpu_->destroy(slot.staging);
}

void Session::fail(const char* what) {
  RaiseKept::raise();
  fail_(what);
  refuse(PyExc_RuntimeError, what);
}

void* Session::staged(Slot& slot, size_t bytes) {
  if (slot.staging_bytes >= bytes && slot.staging) return slot.staging;
  if (slot.staging) gpu_->destroy(slot.staging);
  slot.staging = gpu_->allocate(std::max<size_t>(bytes, 1));
  slot.staging_bytes = slot.staging ? bytes : 0;
  if (!slot.staging) fail("no memory on the GPU for a copy of an array");
  return slot.staging;
}

void Session::bind(Slot& slot, void* data) {
  static int64_t nothing[32];  // Of arrays without elements.
  if (!context_->setTensorAddress(slot.name.c_str(), data ? data : nothing))
    fail("an address was refused");
}

void Session::set_input(Slot& slot, const ArrayView& view) {
  if (view.type != slot.type)
    refuse(PyExc_TypeError, "input '" + slot.name + "' is " + numpy_name(slot.type) +
                                ", and the array is " + view.type_name +
                                ": convert it (x.astype(\"" + numpy_name(slot.type) + "\"))");
  if (!view.contiguous)
    refuse(PyExc_ValueError, "input '" + slot.name +
                                 "': the array's elements do not lie next to each other (use " +
                                 "numpy.ascontiguousarray(x), or x.contiguous())");
  if (!same(view.shape, slot.shape)) {
    if (!context_->setInputShape(slot.name.c_str(), view.shape))
      fail(("input '" + slot.name + "' cannot have the shape " + text_of(view.shape)).c_str());
    slot.shape = view.shape;
    shapes_changed_ = true;
  }
  if (view.on_gpu && !gpu_)
    refuse(PyExc_ValueError,
           "input '" + slot.name + "' is on a GPU, and the plan runs on the CPU: use x.cpu()");
  if (!gpu_ || view.on_gpu) return bind(slot, view.data);
  const size_t bytes = bytes_of(view.shape, slot.type);
  void* copy = staged(slot, bytes);
  if (bytes && !gpu_->copyAsync(copy, view.data, bytes, stream_))
    fail("an input could not be copied to the GPU");
  bind(slot, copy);
}

void Session::refresh_outputs() {
  for (Slot& slot : outputs_) {
    slot.shape = context_->getTensorShape(slot.name.c_str());
    if (slot.shape.nbDims < 0)
      fail("the extents of an output cannot be found: an input's shape is wrong");
    const bool fixed = known(slot.shape);
    slot.extents = fixed ? tuple_of(slot.shape) : nb::none();
    slot.strides = fixed ? tuple_of(strides_of(slot.shape)) : nb::none();
    if (!fixed && !slot.growing) slot.growing = std::make_unique<GrowingOutput>(gpu_);
    context_->setOutputAllocator(slot.name.c_str(), fixed ? nullptr : slot.growing.get());
  }
  shapes_changed_ = false;
}

nb::object Session::new_output(Slot& slot, nb::handle like) {
  nb::object made;
  if (is_torch_tensor(like)) {
    if (!slot.torch_dtype.is_valid()) slot.torch_dtype = torch_type(numpy_name(slot.type));
    made = torch_empty(like, slot.extents, slot.strides, slot.torch_dtype);
  } else {
    made = device_array_(like, slot.extents, numpy_name(slot.type));
  }
  bind(slot, address_of_own(made, slot.name.c_str()));
  return made;
}

nb::object Session::make_output(Slot& slot, nb::handle given, nb::handle like) {
  if (!slot.extents.is_valid() || slot.extents.is_none()) {
    if (given.is_valid())
      refuse(PyExc_ValueError,
             "output '" + slot.name + "' has extents that a run finds out: it cannot be given");
    return nb::none();  // Its allocator has the memory.
  }
  if (!given.is_valid() && like.is_valid()) return new_output(slot, like);
  const nb::object array =
      given.is_valid() ? nb::borrow(given) : nb::object(empty_(slot.extents, slot.dtype));
  const ArrayView view(array, slot.name.c_str());
  const std::string output = "output '" + slot.name + "'";
  if (view.type != slot.type || !same(view.shape, slot.shape))
    refuse(PyExc_ValueError, output + " is " + numpy_name(slot.type) + text_of(slot.shape) +
                                 ", and the array given for it " + view.type_name +
                                 text_of(view.shape));
  if (!view.contiguous || view.read_only)
    refuse(
        PyExc_ValueError,
        output + ": the array given for it " +
            (view.read_only ? "is read-only" : "has elements that do not lie next to each other"));
  const bool stage = gpu_ && !view.on_gpu;
  bind(slot, stage ? staged(slot, bytes_of(slot.shape, slot.type)) : view.data);
  return array;
}

nb::object Session::take_output(Slot& slot, nb::object array, bool made_here, nb::handle like) {
  const bool grown = array.is_none();
  if (grown) {
    slot.shape = slot.growing->shape;
    const nb::object extents = tuple_of(slot.shape);
    array = like.is_valid() ? device_array_(like, extents, numpy_name(slot.type))
                            : empty_(extents, slot.dtype);
  } else if (!gpu_) {
    return array;
  }
  if (like.is_valid() && !grown && made_here) return array;
  const ArrayView view(array, slot.name.c_str());
  const size_t bytes = bytes_of(slot.shape, slot.type);
  if (!bytes || (view.on_gpu && !grown)) return array;
  const void* from = grown ? slot.growing->data() : slot.staging;
  if (!gpu_) {
    std::memcpy(view.data, from, bytes);
    return array;
  }
  if (!gpu_->copyAsync(view.data, from, bytes, stream_))
    fail("an output could not be copied from the GPU");
  must_wait_ = true;
  return array;
}

void Session::find_stream(nb::handle stream, nb::handle inputs,
                          const std::deque<ArrayView>& views) {
  stream_ = nullptr;
  if (!stream.is_none()) {
    stream_ = stream_of(nb::cast<Handle>(stream));
    return;
  }
  const auto on_gpu = std::ranges::find_if(views, &ArrayView::on_gpu);
  if (!gpu_ || on_gpu == views.end()) return;
  const auto told =
      on_gpu->exchange ? exchange_stream(*on_gpu->exchange, on_gpu->gpu) : std::nullopt;
  stream_ = stream_of(told ? *told : nb::cast<Address>(current_stream_(inputs)));
}

nb::object Session::take_inputs(nb::handle inputs, nb::handle stream) {
  std::deque<ArrayView> views;
  nb::object like;  // An array on the GPU: outputs are to be its kind.
  const size_t given = nb::len(inputs);
  if (given != inputs_.size())
    refuse(PyExc_TypeError, "the plan has " + std::to_string(inputs_.size()) +
                                (inputs_.size() == 1 ? " input, and " : " inputs, and ") +
                                std::to_string(given) + (given == 1 ? " was" : " were") + " given");
  for (nb::handle array : inputs) {
    const ArrayView& view = views.emplace_back(array, inputs_[views.size()].name.c_str());
    if (view.on_gpu) like = nb::borrow(array);
  }
  find_stream(stream, inputs, views);
  for (size_t i = 0; i < views.size(); ++i) set_input(inputs_[i], views[i]);
  if (shapes_changed_) refresh_outputs();
  return like;
}

nb::object Session::run(nb::handle inputs, nb::handle outputs, nb::handle stream) {
  const Busy busy(busy_);
  const InCall call;
  const nb::object like = take_inputs(inputs, stream);
  std::vector<nb::object> made;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    nb::object given = outputs.is_none() ? nb::object() : nb::object(outputs[i]);
    if (given.is_valid() && given.is_none()) given.reset();
    made.push_back(make_output(outputs_[i], given, like));
  }
  bool done = false;
  {
    nb::gil_scoped_release released;
    done = context_->enqueueV3(stream_);
  }
  if (!done) fail("the run failed");
  RaiseKept::raise();
  must_wait_ = gpu_ && !like.is_valid();  // The caller's arrays are read until then.
  nb::list results;
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const bool made_here = outputs.is_none() || nb::object(outputs[i]).is_none();
    results.append(take_output(outputs_[i], made[i], made_here, like));
  }
  if (must_wait_) {
    nb::gil_scoped_release released;
    done = gpu_->synchronize(stream_);
  }
  if (!done) fail("the run failed on the GPU");
  return results;
}

std::vector<bool> Session::fixed() const {
  std::vector<bool> fixed;
  for (const Slot& slot : outputs_)
    fixed.push_back(slot.extents.is_valid() && !slot.extents.is_none());
  return fixed;
}

/// Seconds of a run by C++ alone, the least of several rounds: the figure that calls from Python
/// are compared with.
double time_enqueue(IExecutionContext& context, int32_t runs, Handle stream) {
  using Clock = std::chrono::steady_clock;
  constexpr int kRounds = 5;
  double best = 0;
  for (int round = 0; round < kRounds; ++round) {
    const auto start = Clock::now();
    for (int32_t i = 0; i < runs; ++i) context.enqueueV3(stream_of(stream));
    const double took = std::chrono::duration<double>(Clock::now() - start).count() / runs;
    if (round == 0 || took < best) best = took;
  }
  return best;
}

void bind_session(nb::module_& m) {
  m.def("time_enqueue", &time_enqueue, "context"_a, "runs"_a, "stream"_a = 0,
        nb::call_guard<nb::gil_scoped_release>());
  Documented<Session>(m, "Session", "Runs of an engine with arrays of any library.")
      .def(nb::init<nb::object, nb::object, nb::object, nb::object, nb::object, nb::object>(),
           "engine"_a, "context"_a, "gpu"_a.none(), "fail"_a, "device_array"_a, "current_stream"_a)
      .def("fixed", &Session::fixed)
      .def("run", &Session::run, "inputs"_a, "outputs"_a.none(), "stream"_a.none());
}

}  // namespace tenon::python
