#include "device/cuda/cupti.h"

#include "device/cuda/shared_library.h"

#ifdef TENON_HAVE_CUPTI

namespace tenon::cuda {
namespace {

Result<SharedLibrary> open_library() {
  return SharedLibrary::open(
      "CUPTI, CUDA's library for profilers,", {"libcupti.so.13", "libcupti.so.12"},
      "install it (on PyPI: nvidia-cuda-cupti), or name the folder above its lib in "
      "TENON_CUDA_PATH");
}

Result<Cupti> open_cupti() {
  TENON_ASSIGN(const SharedLibrary library, open_library());
  Cupti table;
#define TENON_FUNCTION(name) TENON_CUDA_LOAD(library, table, name)
#include "device/cuda/cupti.def"
  return table;
}

}  // namespace

Result<const Cupti*> load_cupti() {
  return address_of(opened_once<open_cupti>());
}

Error cupti_error(CUptiResult code, const char* call) {
  const char* text = nullptr;
  if (const auto cupti = load_cupti(); cupti.ok()) (*cupti)->cuptiGetResultString(code, &text);
  const char* advice = "";
  if (code == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
    advice =
        "; the driver lets administrators alone read counters (its option "
        "NVreg_RestrictProfilingToAdminUsers)";
  if (code == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED)
    advice = "; another profiler is at work in this process";
  return Error{ErrorKind::kUnsupported,
               fmt::format("{} gave {} ({}){}", call, text == nullptr ? "an error" : text,
                           static_cast<int>(code), advice)};
}

#ifdef TENON_HAVE_CUPTI_COUNTERS

namespace {

Result<CuptiCounters> open_counters() {
  TENON_ASSIGN(const SharedLibrary library, open_library());
  CuptiCounters table;
#define TENON_FUNCTION(name) TENON_CUDA_LOAD(library, table, name)
#include "device/cuda/cupti_counters.def"
  return table;
}

}  // namespace

Result<const CuptiCounters*> load_cupti_counters() {
  return address_of(opened_once<open_counters>());
}

#endif

}  // namespace tenon::cuda

#endif
