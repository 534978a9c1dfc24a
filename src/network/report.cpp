#include "network/report.h"

#include "base/guard.h"
#include "base/printable.h"

namespace tenon::network {
namespace {

nvinfer1::ErrorCode code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::kUser: return nvinfer1::ErrorCode::kINVALID_ARGUMENT;
    case ErrorKind::kUnsupported: return nvinfer1::ErrorCode::kUNSUPPORTED_STATE;
    case ErrorKind::kInternal: return nvinfer1::ErrorCode::kINTERNAL_ERROR;
    case ErrorKind::kResource: return nvinfer1::ErrorCode::kFAILED_ALLOCATION;
  }
  return nvinfer1::ErrorCode::kUNSPECIFIED_ERROR;
}

}  // namespace

void Reporter::write(Severity severity, std::string_view message) {
  if (logger_ != nullptr)
    logger_->log(static_cast<nvinfer1::ILogger::Severity>(severity), printable(message).c_str());
}

void Reporter::report(const Error& error) {
  write(error.kind == ErrorKind::kInternal ? Severity::kInternalError : Severity::kError,
        error.message);
  nvinfer1::IErrorRecorder* const recorder = recorder_;
  if (recorder == nullptr) return;
  const std::string whole = printable(error.message);
  const std::string text(clipped(whole, nvinfer1::IErrorRecorder::kMAX_DESC_LENGTH));
  recorder->reportError(code_of(error.kind), text.c_str());
}

void Reporter::report_exception(const char* call) noexcept {
  try {
    report(error_of_exception(call));
  } catch (...) {
    // No room for a message of more than fixed text.
    if (logger_ != nullptr) logger_->log(nvinfer1::ILogger::Severity::kERROR, "out of memory");
    if (nvinfer1::IErrorRecorder* const recorder = recorder_)
      recorder->reportError(nvinfer1::ErrorCode::kFAILED_ALLOCATION, "out of memory");
  }
}

void Reporter::set_recorder(nvinfer1::IErrorRecorder* recorder) {
  if (recorder != nullptr) recorder->incRefCount();
  if (nvinfer1::IErrorRecorder* const former = recorder_.exchange(recorder)) former->decRefCount();
}

bool is_flag(Reporter& reporter, const char* method, int32_t flag, int32_t count) {
  if (flag >= 0 && flag < count) return true;
  reporter.guarded_call(
      method, [&] { reporter.report(user_error("{}({}): there is no such flag", method, flag)); });
  return false;
}

bool are_flags(Reporter& reporter, const char* method, uint32_t flags, int32_t count) {
  if (flags >> count == 0) return true;
  reporter.guarded_call(method, [&] {
    reporter.report(
        user_error("{}({:#x}): there are {} flags; they stay as they were", method, flags, count));
  });
  return false;
}

}  // namespace tenon::network
