// Interfaces of applications that follow a build or a run: loggers, profilers, recorders, monitors,
// listeners.
#include <ctime>
#include <iostream>
#include <sstream>

#include "common.h"

namespace tenon::python {
namespace {

struct PyLogger : ILogger {
  NB_TRAMPOLINE(ILogger);
  void log(Severity severity, const AsciiChar* text) noexcept override {
    call_python_void(nb_trampoline, "log", severity, text);
  }
};

/// Messages up to a severity, as lines on the standard error output.
class Logger : public ILogger {
 public:
  explicit Logger(Severity least = Severity::kWARNING) : least(least) {}
  void log(Severity severity, const AsciiChar* text) noexcept override { write(severity, text); }
  void write(Severity severity, const char* text) const noexcept {
    if (severity > least) return;
    constexpr char kLetters[] = {'F', 'E', 'W', 'I', 'V'};
    std::ostringstream line;  // One write a line: several threads log.
    line << "[TRT] [" << kLetters[static_cast<int>(severity)] << "] " << text << '\n';
    std::cerr << line.str() << std::flush;
  }
  Severity least;
};

struct PyDefaultLogger : Logger {
  NB_TRAMPOLINE(Logger);
  void log(Severity severity, const AsciiChar* text) noexcept override {
    call_python_void(nb_trampoline, "log", severity, text);
  }
};

struct PyProfiler : IProfiler {
  NB_TRAMPOLINE(IProfiler);
  void reportLayerTime(const char* name, float ms) noexcept override {
    call_python_void(nb_trampoline, "report_layer_time", name, ms);
  }
};

/// Layer times as lines on the standard output.
class Profiler : public IProfiler {
 public:
  void reportLayerTime(const char* name, float ms) noexcept override { print(name, ms); }
  static void print(const char* name, float ms) noexcept {
    std::cout << name << ": " << ms << "ms" << std::endl;
  }
};

struct PyDefaultProfiler : Profiler {
  NB_TRAMPOLINE(Profiler);
  void reportLayerTime(const char* name, float ms) noexcept override {
    call_python_void(nb_trampoline, "report_layer_time", name, ms);
  }
};

struct PyErrorRecorder : IErrorRecorder {
  NB_TRAMPOLINE(IErrorRecorder);
  int32_t getNbErrors() const noexcept override {
    try {
      nb::gil_scoped_acquire gil;
      const nb::object found = nb_trampoline.base().attr("num_errors");
      return nb::cast<int32_t>(PyCallable_Check(found.ptr()) ? found() : found);
    } catch (...) {
      keep_error();
      return 0;
    }
  }
  ErrorCode getErrorCode(int32_t index) const noexcept override {
    return call_python(nb_trampoline, "get_error_code", ErrorCode::kUNSPECIFIED_ERROR, index);
  }
  ErrorDesc getErrorDesc(int32_t index) const noexcept override {
    description = call_python(nb_trampoline, "get_error_desc", std::string(), index);
    return description.c_str();
  }
  bool hasOverflowed() const noexcept override {
    return call_python(nb_trampoline, "has_overflowed", false);
  }
  void clear() noexcept override { call_python_void(nb_trampoline, "clear"); }
  bool reportError(ErrorCode code, ErrorDesc text) noexcept override {
    return call_python(nb_trampoline, "report_error", false, code, text);
  }
  // Python counts the references: bindings keep a recorder alive as long as the object that it was
  // given to.
  RefCount incRefCount() noexcept override { return 1; }
  RefCount decRefCount() noexcept override { return 1; }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
  mutable std::string description;
};

struct PyProgressMonitor : IProgressMonitor {
  NB_TRAMPOLINE(IProgressMonitor);
  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override {
    call_python_void(nb_trampoline, "phase_start", phase, parent, steps);
  }
  bool stepComplete(const char* phase, int32_t step) noexcept override {
    return call_python(nb_trampoline, "step_complete", false, phase, step);
  }
  void phaseFinish(const char* phase) noexcept override {
    call_python_void(nb_trampoline, "phase_finish", phase);
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

struct PyDebugListener : IDebugListener {
  NB_TRAMPOLINE(IDebugListener);
  bool processDebugTensor(const void* address, TensorLocation location, DataType type,
                          const Dims& shape, const char* name, cudaStream_t stream) override {
    try {
      nb::gil_scoped_acquire gil;
      const nb::object taken = nb_trampoline.base().attr("process_debug_tensor")(
          address_of(address), location, type, Dims(shape), name, address_of(stream));
      return taken.is_none() || nb::cast<bool>(taken);  // Many methods return nothing.
    } catch (...) {
      keep_error();
      return false;
    }
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

void bind_loggers(nb::module_& m) {
  Documented<ILogger, PyLogger> base(
      m, "ILogger", "Receives messages, from several threads at once: override log().");
  nb::enum_<ILogger::Severity> severity(base, "Severity", nb::is_arithmetic());
  severity.value("INTERNAL_ERROR", ILogger::Severity::kINTERNAL_ERROR)
      .value("ERROR", ILogger::Severity::kERROR)
      .value("WARNING", ILogger::Severity::kWARNING)
      .value("INFO", ILogger::Severity::kINFO)
      .value("VERBOSE", ILogger::Severity::kVERBOSE)
      .export_values();
  severity.attr("__repr__") = m.attr("DataType").attr("__repr__");
  base.def(nb::init<>())
      .def(
          "log", [](ILogger&, ILogger::Severity, nb::str) { must_override("ILogger.log"); },
          "severity"_a, "msg"_a);
  with_statement(base);
  Documented<Logger, ILogger, PyDefaultLogger>(m, "Logger", "Prints messages up to a severity.")
      .def(nb::init<ILogger::Severity>(), "min_severity"_a = ILogger::Severity::kWARNING)
      .def_rw("min_severity", &Logger::least)
      .def("log", &Logger::write, "severity"_a, "msg"_a);
}

}  // namespace

void bind_observers(nb::module_& m) {
  bind_loggers(m);
  Documented<IProfiler, PyProfiler>(m, "IProfiler",
                                    "Is told the time of each layer: override report_layer_time().")
      .def(nb::init<>())
      .def(
          "report_layer_time",
          [](IProfiler&, nb::str, float) { must_override("IProfiler.report_layer_time"); },
          "layer_name"_a, "ms"_a);
  Documented<Profiler, IProfiler, PyDefaultProfiler>(m, "Profiler",
                                                     "Prints the time of each layer.")
      .def(nb::init<>())
      .def(
          "report_layer_time",
          [](Profiler&, const char* name, float ms) { Profiler::print(name, ms); }, "layer_name"_a,
          "ms"_a);
  Documented<IErrorRecorder, IVersionedInterface, PyErrorRecorder>(m, "IErrorRecorder",
                                                                   "Collects errors.")
      .def(nb::init<>())
      .def_prop_ro_static("MAX_DESC_LENGTH",
                          [](nb::handle) { return IErrorRecorder::kMAX_DESC_LENGTH; })
      .def_prop_ro("num_errors",
                   [](IErrorRecorder&) -> int32_t { must_override("IErrorRecorder.num_errors"); })
      .def(
          "get_error_code",
          [](IErrorRecorder&, int) { must_override("IErrorRecorder.get_error_code"); }, "arg0"_a)
      .def(
          "get_error_desc",
          [](IErrorRecorder&, int) { must_override("IErrorRecorder.get_error_desc"); }, "arg0"_a)
      .def("has_overflowed",
           [](IErrorRecorder&) { must_override("IErrorRecorder.has_overflowed"); })
      .def("clear", [](IErrorRecorder&) { must_override("IErrorRecorder.clear"); })
      .def(
          "report_error",
          [](IErrorRecorder&, ErrorCode, nb::str) { must_override("IErrorRecorder.report_error"); },
          "arg0"_a, "arg1"_a);
  Documented<IProgressMonitor, IVersionedInterface, PyProgressMonitor>(
      m, "IProgressMonitor",
      "Is told how far a build is; step_complete() returns False to cancel it.")
      .def(nb::init<>())
      .def(
          "phase_start",
          [](IProgressMonitor&, nb::str, nb::object, int) {
            must_override("IProgressMonitor.phase_start");
          },
          "phase_name"_a, "parent_phase"_a.none(), "num_steps"_a)
      .def(
          "step_complete",
          [](IProgressMonitor&, nb::str, int) { must_override("IProgressMonitor.step_complete"); },
          "phase_name"_a, "step"_a)
      .def(
          "phase_finish",
          [](IProgressMonitor&, nb::str) { must_override("IProgressMonitor.phase_finish"); },
          "phase_name"_a);
  Documented<IDebugListener, IVersionedInterface, PyDebugListener>(m, "IDebugListener",
                                                                   "Is shown debug tensors.")
      .def(nb::init<>())
      .def("process_debug_tensor",
           [](IDebugListener&, nb::args) { must_override("IDebugListener.process_debug_tensor"); });
}

}  // namespace tenon::python
