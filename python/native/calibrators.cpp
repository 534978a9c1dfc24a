// Calibrators and the selector of algorithms: surface of TensorRT 10 that its version 11 drops.
#include "common.h"

namespace tenon::python {
namespace {

/// Shared by all calibrators in Python; `Base` is the class of the algorithm.
template <typename Base> struct PyCalibratorOf : Base {
  NB_TRAMPOLINE(Base);

  int32_t getBatchSize() const noexcept override {
    return call_python(nb_trampoline, "get_batch_size", int32_t(-1));
  }
  bool getBatch(void* bindings[], const char* names[], int32_t count) noexcept override {
    try {
      nb::gil_scoped_acquire gil;
      nb::list list;
      for (int32_t i = 0; i < count; ++i) list.append(names[i]);
      const nb::object batch = nb_trampoline.base().attr("get_batch")(list);
      if (batch.is_none()) return false;
      int32_t filled = 0;
      for (nb::handle address : batch) {
        if (filled == count)
          throw nb::value_error("get_batch() returned more addresses than there are inputs");
        bindings[filled++] = pointer(nb::cast<Handle>(address));
      }
      return filled == count;
    } catch (...) {
      keep_error();
      return false;
    }
  }
  const void* readCalibrationCache(std::size_t& length) noexcept override {
    return read("read_calibration_cache", length);
  }
  void writeCalibrationCache(const void* data, std::size_t length) noexcept override {
    write("write_calibration_cache", data, length);
  }
  CalibrationAlgoType getAlgorithm() noexcept override {
    return call_python(nb_trampoline, "get_algorithm", CalibrationAlgoType::kENTROPY_CALIBRATION_2);
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }

  /// The bytes live until the next read, as the interface wants.
  const void* read(const char* method, std::size_t& length) noexcept {
    length = 0;
    try {
      nb::gil_scoped_acquire gil;
      const nb::object given = nb_trampoline.base().attr(method)();
      if (given.is_none()) return nullptr;
      const nb::bytes data(given);
      cache.assign(data.c_str(), data.size());
      length = cache.size();
      return cache.data();
    } catch (...) {
      keep_error();
      return nullptr;
    }
  }
  void write(const char* method, const void* data, std::size_t length) noexcept {
    try {
      nb::gil_scoped_acquire gil;
      // A view of bytes that may be kept, as tools take it: with tobytes().
      const nb::bytes bytes(data, length);
      nb_trampoline.base().attr(method)(nb::steal(PyMemoryView_FromObject(bytes.ptr())));
    } catch (...) {
      keep_error();
    }
  }
  std::string cache;
};

struct PyLegacyCalibrator : PyCalibratorOf<IInt8LegacyCalibrator> {
  double getQuantile() const noexcept override {
    return call_python(nb_trampoline, "get_quantile", 0.0);
  }
  double getRegressionCutoff() const noexcept override {
    return call_python(nb_trampoline, "get_regression_cutoff", 0.0);
  }
  const void* readHistogramCache(std::size_t& length) noexcept override {
    return read("read_histogram_cache", length);
  }
  void writeHistogramCache(const void* data, std::size_t length) noexcept override {
    write("write_histogram_cache", data, length);
  }
};

/// The plain interface does not implement getInterfaceInfo().
struct PyPlainCalibrator : PyCalibratorOf<IInt8Calibrator> {
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IInt8Calibrator", 1, 0}; }
};

template <typename Class, typename Parent, typename Alias>
void bind_calibrator(nb::module_& m, const char* name, CalibrationAlgoType algorithm) {
  Documented<Class, Parent, Alias>(
      m, name, "Gives batches that ranges are taken from; get_batch() returns addresses.")
      .def(nb::init<>())
      .def("get_batch_size", [](Class&) -> int32_t { must_override("get_batch_size"); })
      .def("get_algorithm", [algorithm](Class&) { return algorithm; })
      .def(
          "get_batch", [](Class&, nb::object) { must_override("get_batch"); }, "names"_a)
      .def("read_calibration_cache", [](Class&) { return nb::none(); })
      .def(
          "write_calibration_cache", [](Class&, nb::object) {}, "cache"_a);
}

struct PyAlgorithmSelector : IAlgorithmSelector {
  NB_TRAMPOLINE(IAlgorithmSelector);
  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices,
                           int32_t count, int32_t* selection) noexcept override {
    try {
      nb::gil_scoped_acquire gil;
      const nb::object picked = nb_trampoline.base().attr("select_algorithms")(
          nb::cast(&context, nb::rv_policy::reference), list(choices, count));
      int32_t filled = 0;
      for (nb::handle index : picked) {
        if (filled == count)
          throw nb::value_error("select_algorithms() returned more than there are");
        selection[filled++] = nb::cast<int32_t>(index);
      }
      return filled;
    } catch (...) {
      keep_error();
      return -1;
    }
  }
  void reportAlgorithms(const IAlgorithmContext* const* contexts, const IAlgorithm* const* chosen,
                        int32_t count) noexcept override {
    try {
      nb::gil_scoped_acquire gil;
      nb_trampoline.base().attr("report_algorithms")(list(contexts, count), list(chosen, count));
    } catch (...) {
      keep_error();
    }
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }

  template <typename T> static nb::list list(const T* const* items, int32_t count) {
    nb::list made;
    for (int32_t i = 0; i < count; ++i) made.append(nb::cast(items[i], nb::rv_policy::reference));
    return made;
  }
};

void bind_algorithms(nb::module_& m) {
  Documented<IAlgorithmIOInfo>(m, "IAlgorithmIOInfo")
      .def_prop_ro("dtype", &IAlgorithmIOInfo::getDataType)
      .def_prop_ro("strides", &IAlgorithmIOInfo::getStrides)
      .def_prop_ro("vectorized_dim", &IAlgorithmIOInfo::getVectorizedDim)
      .def_prop_ro("components_per_element", &IAlgorithmIOInfo::getComponentsPerElement);
  Documented<IAlgorithmVariant>(m, "IAlgorithmVariant")
      .def_prop_ro("implementation", &IAlgorithmVariant::getImplementation)
      .def_prop_ro("tactic", &IAlgorithmVariant::getTactic);
  Documented<IAlgorithmContext>(m, "IAlgorithmContext")
      .def_prop_ro("name", &IAlgorithmContext::getName)
      .def(
          "get_shape",
          [](const IAlgorithmContext& context, int32_t index) {
            nb::list shapes;
            for (const auto select :
                 {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX}) {
              const Dims dims = context.getDimensions(index, select);
              if (dims.nbDims >= 0) shapes.append(dims);
            }
            return shapes;
          },
          "index"_a)
      .def_prop_ro("num_inputs", &IAlgorithmContext::getNbInputs)
      .def_prop_ro("num_outputs", &IAlgorithmContext::getNbOutputs);
  Documented<IAlgorithm>(m, "IAlgorithm")
      .def("get_algorithm_io_info", &IAlgorithm::getAlgorithmIOInfoByIndex, "index"_a,
           nb::rv_policy::reference_internal)
      .def_prop_ro("algorithm_variant", &IAlgorithm::getAlgorithmVariant,
                   nb::rv_policy::reference_internal)
      .def_prop_ro("timing_msec", &IAlgorithm::getTimingMSec)
      .def_prop_ro("workspace_size", &IAlgorithm::getWorkspaceSize);
  using Class = IAlgorithmSelector;
  Documented<Class, IVersionedInterface, PyAlgorithmSelector>(
      m, "IAlgorithmSelector",
      "Chooses the kernels of layers in builds: override select_algorithms() and\n"
      "report_algorithms().")
      .def(nb::init<>())
      .def("select_algorithms",
           [](Class&, nb::args, nb::kwargs) { must_override("select_algorithms"); })
      .def("report_algorithms",
           [](Class&, nb::args, nb::kwargs) { must_override("report_algorithms"); });
}

}  // namespace

void bind_calibrators(nb::module_& m) {
  using Plain = IInt8Calibrator;
  bind_calibrator<Plain, IVersionedInterface, PyPlainCalibrator>(
      m, "IInt8Calibrator", CalibrationAlgoType::kENTROPY_CALIBRATION_2);
  bind_calibrator<IInt8LegacyCalibrator, Plain, PyLegacyCalibrator>(
      m, "IInt8LegacyCalibrator", CalibrationAlgoType::kLEGACY_CALIBRATION);
  bind_calibrator<IInt8EntropyCalibrator, Plain, PyCalibratorOf<IInt8EntropyCalibrator>>(
      m, "IInt8EntropyCalibrator", CalibrationAlgoType::kENTROPY_CALIBRATION);
  bind_calibrator<IInt8EntropyCalibrator2, Plain, PyCalibratorOf<IInt8EntropyCalibrator2>>(
      m, "IInt8EntropyCalibrator2", CalibrationAlgoType::kENTROPY_CALIBRATION_2);
  bind_calibrator<IInt8MinMaxCalibrator, Plain, PyCalibratorOf<IInt8MinMaxCalibrator>>(
      m, "IInt8MinMaxCalibrator", CalibrationAlgoType::kMINMAX_CALIBRATION);
  bind_algorithms(m);
}

}  // namespace tenon::python
