// A session's call as Python has it: its arguments, its errors, its results.
#include <algorithm>
#include <chrono>

#include "session.h"

namespace tenon::python {

/// Held during a run. At its end the inputs' arrays are let go.
class Session::Busy {
 public:
  explicit Busy(Session& session) : session_(session) {
    if (session.busy_.exchange(true))
      refuse(PyExc_RuntimeError, "the session is in use: each thread needs one of its own");
  }
  ~Busy() {
    session_.views_.clear();
    session_.given_.clear();
    session_.made_.clear();
    session_.like_ = nullptr;
    session_.busy_ = false;
  }
  Busy(const Busy&) = delete;

 private:
  Session& session_;
};

namespace {

/// A stream as its library has it: its address, or an object that has it.
Address stream_address(nb::handle stream) {
  Handle found;
  if (read_handle(stream, found)) return found;
  for (const char* name : {"cuda_stream", "ptr"}) {  // PyTorch's, CuPy's.
    const nb::object address = nb::getattr(stream, name, nb::none());
    if (read_handle(address, found)) return found;
  }
  if (nb::hasattr(stream, "__cuda_stream__"))
    return nb::cast<Address>(stream.attr("__cuda_stream__")()[1]);
  refuse(PyExc_TypeError, "stream: the address of a CUDA stream, or a stream of PyTorch or CuPy");
}

}  // namespace

void Session::find_stream(nb::handle stream, nb::handle inputs) {
  stream_ = nullptr;
  if (stream.is_valid()) {
    stream_ = stream_of(stream_address(stream));
    return;
  }
  const auto on_gpu = std::ranges::find_if(views_, &ArrayView::on_gpu);
  if (!gpu_ || on_gpu == views_.end()) return;
  const auto told =
      on_gpu->exchange ? exchange_stream(*on_gpu->exchange, on_gpu->gpu) : std::nullopt;
  stream_ = stream_of(told ? *told : nb::cast<Address>(python_.current_stream(inputs)));
}

void Session::refuse_names(nb::handle out) {
  std::string names;
  for (const Slot& slot : outputs_) names += (names.empty() ? "'" : ", '") + slot.name + "'";
  refuse(PyExc_TypeError, "out: the plan's outputs are " + names + ", and arrays were given for " +
                              nb::cast<std::string>(nb::str(nb::list(out))));
}

void Session::take_given(nb::handle out) {
  if (!out.is_valid()) return;
  if (PyDict_Check(out.ptr())) {
    Py_ssize_t known = 0;
    for (const Slot& slot : outputs_) {
      given_.push_back(nb::borrow(PyDict_GetItemString(out.ptr(), slot.name.c_str())));
      known += given_.back().is_valid();
    }
    if (known != PyDict_Size(out.ptr())) refuse_names(out);
  } else if (PyList_Check(out.ptr()) || PyTuple_Check(out.ptr())) {
    for (nb::handle array : out) given_.push_back(nb::borrow(array));
  } else {
    given_.push_back(nb::borrow(out));
  }
  if (given_.size() != outputs_.size())
    refuse(PyExc_TypeError, "the plan has " + counted(outputs_.size(), "output") + ", and " +
                                counted(given_.size(), "array") +
                                (given_.size() == 1 ? " was" : " were") + " given");
  for (nb::object& array : given_)
    if (array.is_valid() && array.is_none()) array.reset();
}

Session::Keywords Session::keywords_of(PyObject* named) {
  Keywords found;
  if (!named) return found;
  PyObject *name = nullptr, *value = nullptr;
  for (Py_ssize_t at = 0; PyDict_Next(named, &at, &name, &value);) {
    const auto is = [&](const char* text) {
      return PyUnicode_CompareWithASCIIString(name, text) == 0;
    };
    if (is("out") || is("stream")) {
      if (value != Py_None) (is("out") ? found.out : found.stream) = nb::borrow(value);
      continue;
    }
    if (!found.inputs.is_valid()) found.inputs = nb::dict();
    found.inputs[nb::handle(name)] = nb::handle(value);
  }
  return found;
}

nb::object Session::call(PyObject* inputs, PyObject* named) {
  const Busy busy(*this);
  const InCall call;
  const Keywords keywords = keywords_of(named);
  nb::object arrays = nb::borrow(inputs);
  if (keywords.inputs.is_valid() ||
      (nb::len(arrays) == 1 && PyDict_CheckExact(PyTuple_GetItem(inputs, 0))))
    arrays = python_.order(arrays, keywords.inputs.is_valid() ? keywords.inputs : nb::dict());
  take_given(keywords.out);
  take_inputs(arrays, keywords.stream);
  for (size_t i = 0; i < outputs_.size(); ++i)
    made_.push_back(make_output(outputs_[i], given_.empty() ? nb::handle() : given_[i]));
  bool done = false;
  {
    nb::gil_scoped_release released;
    done = context_->enqueueV3(stream_);
  }
  if (!done) fail("the run failed");
  RaiseKept::raise();
  return results();
}

nb::object Session::results() {
  must_wait_ = gpu_ && !like_;  // The caller's arrays are read until then.
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const bool made_here = given_.empty() || !given_[i].is_valid();
    made_[i] = take_output(outputs_[i], std::move(made_[i]), made_here);
  }
  if (must_wait_) {
    bool done = false;
    {
      nb::gil_scoped_release released;
      done = gpu_->synchronize(stream_);
    }
    if (!done) fail("the run failed on the GPU");
  }
  if (made_.size() == 1) return std::move(made_[0]);
  nb::list all;
  for (nb::object& array : made_) all.append(std::move(array));
  return python_.several(all);
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

namespace {

/// Raises as the methods that nanobind binds do.
template <class Work> PyObject* raising(const Work& work) noexcept {
  try {
    return work().release().ptr();
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const nb::builtin_exception& error) {
    const bool is_value = error.type() == nb::exception_type::value_error;
    PyErr_SetString(is_value ? PyExc_ValueError : PyExc_TypeError, error.what());
  } catch (const std::bad_alloc&) {
    PyErr_NoMemory();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  }
  return nullptr;
}

/// The type's slot in place of a method `__call__`: a method takes as long again as the rest.
PyObject* call_session(PyObject* self, PyObject* inputs, PyObject* named) noexcept {
  return raising([&] {
    if (!nb::inst_ready(self)) refuse(PyExc_RuntimeError, "the session was not initialized");
    return nb::inst_ptr<Session>(self)->call(inputs, named);
  });
}

PyType_Slot kSessionSlots[] = {{Py_tp_call, reinterpret_cast<void*>(call_session)}, {0, nullptr}};

}  // namespace

void bind_session(nb::module_& m) {
  m.def("time_enqueue", &time_enqueue, "context"_a, "runs"_a, "stream"_a = 0,
        nb::call_guard<nb::gil_scoped_release>());
  Documented<Session>(m, "Session", "Runs of an engine with arrays of any library.",
                      nb::type_slots(kSessionSlots))
      .def(
          "__init__",
          [](Session* self, nb::object engine, nb::object context, nb::object gpu, nb::object fail,
             nb::object device_array, nb::object current_stream, nb::object order,
             nb::object several, bool reuse) {
            new (self) Session(std::move(engine), std::move(context), std::move(gpu),
                               {std::move(fail), std::move(device_array), std::move(current_stream),
                                std::move(order), std::move(several)},
                               reuse);
          },
          "engine"_a, "context"_a, "gpu"_a.none(), "fail"_a, "device_array"_a, "current_stream"_a,
          "order"_a, "several"_a, "reuse"_a);
}

}  // namespace tenon::python
