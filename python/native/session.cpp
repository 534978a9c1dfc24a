#include "session.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

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
    case DataType::kINT64: return count * 8;
    case DataType::kFLOAT:
    case DataType::kINT32: return count * 4;
    case DataType::kHALF:
    case DataType::kBF16: return count * 2;
    case DataType::kINT4:
    case DataType::kFP4: return (count + 1) / 2;
    default: return count;
  }
}

nb::object numpy_dtype(DataType type) {
  const char* name = numpy_name(type);
  Dims one{1, {1}};
  if (!name) refuse(PyExc_TypeError, "NumPy has no such type");
  // An array's type, so that types of ml_dtypes are found in the one place that knows them.
  const int64_t zero = 0;
  return array_over(&zero, type, one, nb::none()).attr("dtype");
}

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

Session::Session(nb::object engine, nb::object context, nb::object gpu, Helpers helpers, bool reuse)
    : engine_(std::move(engine)),
      context_object_(std::move(context)),
      gpu_object_(std::move(gpu)),
      empty_(nb::module_::import_("numpy").attr("empty")),
      python_(std::move(helpers)),
      reuse_(reuse),
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
  python_.fail(what);
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

namespace {

std::string conversion_to(DataType type, bool of_torch) {
  const std::string name = numpy_name(type);
  return of_torch ? "x.to(torch." + name + ")" : "x.astype(\"" + name + "\")";
}

/// Arrays of libraries that only trace have extents alone.
void refuse_absent(const char* kind, const Slot& slot, const ArrayView& view) {
  if (!view.data && known(view.shape) && bytes_of(view.shape, slot.type) > 0)
    refuse(PyExc_ValueError,
           std::string(kind) + " '" + slot.name + "': the array has no memory, only a shape");
}

}  // namespace

void Session::set_input(Slot& slot, const ArrayView& view) {
  if (view.type != slot.type)
    refuse(PyExc_TypeError, "input '" + slot.name + "' is " + numpy_name(slot.type) +
                                ", and the array is " + view.type_text() + ": convert it (" +
                                conversion_to(slot.type, view.is_torch) + ")");
  refuse_absent("input", slot, view);
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

nb::object Session::new_output(Slot& slot) {
  nb::object made;
  if (!like_) {
    made = empty_(slot.extents, slot.dtype);
    bind_output(slot, ArrayView(made, slot.name.c_str(), slot.array_type));
    return made;
  }
  if (like_->is_torch) {
    if (!slot.torch_dtype.is_valid()) slot.torch_dtype = torch_type(numpy_name(slot.type));
    made = torch_.make(*like_, slot.extents, slot.strides, slot.torch_dtype);
  } else {
    made = python_.device_array(like_->array, slot.extents, numpy_name(slot.type));
  }
  bind(slot, address_of_own(made, slot.name.c_str(), slot.array_type));
  return made;
}

bool Session::fits(const Slot& slot, const ArrayView& view) {
  return view.type == slot.type && same(view.shape, slot.shape) && view.contiguous &&
         !view.read_only;
}

void Session::refuse_output(const Slot& slot, const ArrayView& view) {
  const std::string output = "output '" + slot.name + "'";
  if (view.type != slot.type || !same(view.shape, slot.shape))
    refuse(PyExc_ValueError, output + " is " + numpy_name(slot.type) + text_of(slot.shape) +
                                 ", and the array given for it " + view.type_text() +
                                 text_of(view.shape));
  refuse(PyExc_ValueError,
         output + ": the array given for it " +
             (view.read_only ? "is read-only" : "has elements that do not lie next to each other"));
}

void Session::bind_output(Slot& slot, const ArrayView& view) {
  const bool stage = gpu_ && !view.on_gpu;
  bind(slot, stage ? staged(slot, bytes_of(slot.shape, slot.type)) : view.data);
}

nb::object Session::kept_output(Slot& slot) {
  if (slot.kept.is_valid() && slot.kept_kind == kind()) {
    const ArrayView view(slot.kept, slot.name.c_str(), slot.array_type);
    if (fits(slot, view)) {
      bind_output(slot, view);
      return slot.kept;
    }
  }
  slot.kept = new_output(slot);
  slot.kept_kind = kind();
  return slot.kept;
}

nb::object Session::make_output(Slot& slot, nb::handle given) {
  if (!slot.extents.is_valid() || slot.extents.is_none()) {
    if (given.is_valid())
      refuse(PyExc_ValueError,
             "output '" + slot.name + "' has extents that a run finds out: it cannot be given");
    return nb::none();  // Its allocator has the memory.
  }
  if (!given.is_valid()) return reuse_ ? kept_output(slot) : new_output(slot);
  const ArrayView view(given, slot.name.c_str(), slot.array_type);
  if (!fits(slot, view)) refuse_output(slot, view);
  refuse_absent("output", slot, view);
  bind_output(slot, view);
  return nb::borrow(given);
}

nb::object Session::take_output(Slot& slot, nb::object array, bool made_here) {
  const bool grown = array.is_none();
  if (grown) {
    slot.shape = slot.growing->shape;
    const nb::object extents = tuple_of(slot.shape);
    array = like_ ? python_.device_array(like_->array, extents, numpy_name(slot.type))
                  : empty_(extents, slot.dtype);
  } else if (!gpu_) {
    return array;
  }
  if (like_ && !grown && made_here) return array;
  const ArrayView view(array, slot.name.c_str(), slot.array_type);
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

void Session::take_inputs(nb::handle inputs, nb::handle stream) {
  const size_t given = nb::len(inputs);
  if (given != inputs_.size())
    refuse(PyExc_TypeError, "the plan has " + counted(inputs_.size(), "input") + ", and " +
                                std::to_string(given) + (given == 1 ? " was" : " were") + " given");
  for (size_t i = 0; i < given; ++i) {
    PyObject* const array = PyTuple_GetItem(inputs.ptr(), static_cast<Py_ssize_t>(i));
    const ArrayView& view =
        views_.emplace_back(array, inputs_[i].name.c_str(), inputs_[i].array_type);
    if (view.on_gpu) like_ = &view;
  }
  find_stream(stream, inputs);
  for (size_t i = 0; i < given; ++i) set_input(inputs_[i], views_[i]);
  if (shapes_changed_) refresh_outputs();
}

}  // namespace tenon::python
