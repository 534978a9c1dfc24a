#pragma once

// CUPTI records kernels for profilers. Builds without its headers say so where it is asked for.
#if __has_include(<cupti.h>)
#include <cupti.h>
#define TENON_HAVE_CUPTI 1
#if __has_include(<cupti_range_profiler.h>) && __has_include(<cupti_profiler_host.h>)
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#define TENON_HAVE_CUPTI_COUNTERS 1
#endif
#endif

#include "base/status.h"

namespace tenon::cuda {

#ifdef TENON_HAVE_CUPTI

/// The functions that record kernels.
struct Cupti {
#define TENON_FUNCTION(name) decltype(&::name) name = nullptr;
#include "device/cuda/cupti.def"
};

/// Opened on first use. The error says where it was looked for.
Result<const Cupti*> load_cupti();

/// The error that a call's code stands for.
Error cupti_error(CUptiResult code, const char* call);

/// `TENON_CUPTI(table, cuptiActivityEnable, kind);` calls, and returns the error from the
/// enclosing function.
#define TENON_CUPTI(table, name, ...)                                       \
  do {                                                                      \
    const CUptiResult tenon_code = (table).name(__VA_ARGS__);               \
    if (tenon_code != CUPTI_SUCCESS) return cupti_error(tenon_code, #name); \
  } while (false)

#endif

#ifdef TENON_HAVE_CUPTI_COUNTERS

/// The functions that read counters, of newer libraries.
struct CuptiCounters {
#define TENON_FUNCTION(name) decltype(&::name) name = nullptr;
#include "device/cuda/cupti_counters.def"
};
Result<const CuptiCounters*> load_cupti_counters();

#endif

}  // namespace tenon::cuda
