// libcupti.so.13 that tells of a made-up kernel for each range, and one behind them without a
// range; of counters it tells when it was allowed to.
#include "device/cuda/cupti.h"

#if defined(TENON_HAVE_CUPTI_COUNTERS) && CUPTI_API_VERSION >= 130000

#include <cstddef>
#include <cstring>
#include <mutex>
#include <vector>

namespace {

struct State {
  std::mutex mutex;
  CUpti_BuffersCallbackRequestFunc give = nullptr;
  CUpti_BuffersCallbackCompleteFunc take = nullptr;
  std::vector<uint64_t> ranges;
  int kinds = 0, runs = 0;
  size_t told = 0;  ///< Kernels, at the last flush.
  bool counts = false;
};

State& state() {
  static State the_state;
  return the_state;
}

constexpr uint32_t kFirstLaunch = 40;

template <class Record> void append(uint8_t* buffer, size_t& bytes, const Record& record) {
  std::memcpy(buffer + bytes, &record, sizeof record);
  bytes += sizeof record;
}

CUpti_ActivityKernel10 kernel(uint32_t i) {
  CUpti_ActivityKernel10 record{};
  record.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  record.correlationId = kFirstLaunch + i;
  record.start = 1'000'000 + 20'000 * i;
  record.end = record.start + 10'000;
  record.gridX = static_cast<int32_t>(i) + 1;
  record.gridY = record.gridZ = record.blockY = record.blockZ = 1;
  record.blockX = 256;
  record.registersPerThread = 128;
  record.staticSharedMemory = 1024;
  record.dynamicSharedMemory = 2048;
  record.streamId = 7;
  record.name = "_Z5scalePf";
  return record;
}

}  // namespace

#define FAKE(name, parameters, ...)                                               \
  extern "C" __attribute__((visibility("default"))) CUptiResult name parameters { \
    [[maybe_unused]] State& fake = state();                                       \
    __VA_ARGS__;                                                                  \
    return CUPTI_SUCCESS;                                                         \
  }

FAKE(cuptiGetResultString, (CUptiResult, const char** text), *text = "CUPTI_ERROR_OF_A_TEST")
FAKE(cuptiActivityRegisterCallbacks,
     (CUpti_BuffersCallbackRequestFunc give, CUpti_BuffersCallbackCompleteFunc take),
     fake.give = give;
     fake.take = take)
FAKE(cuptiActivityEnable, (CUpti_ActivityKind), ++fake.kinds)
FAKE(cuptiActivityDisable, (CUpti_ActivityKind), --fake.kinds)
FAKE(cuptiActivityPushExternalCorrelationId, (CUpti_ExternalCorrelationKind, uint64_t id),
     fake.ranges.push_back(id))
FAKE(cuptiActivityPopExternalCorrelationId, (CUpti_ExternalCorrelationKind, uint64_t*))

/// The last launch first: what it tells has no order.
FAKE(cuptiActivityFlushAll, (uint32_t), {
  uint8_t* buffer = nullptr;
  size_t size = 0, most = 0, bytes = 0;
  fake.give(&buffer, &size, &most);
  fake.told = fake.ranges.size() + 1;
  for (size_t i = fake.told; i-- > 0;) append(buffer, bytes, kernel(static_cast<uint32_t>(i)));
  for (size_t i = 0; i < fake.ranges.size(); ++i) {
    CUpti_ActivityExternalCorrelation tie{};
    tie.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    tie.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    tie.externalId = fake.ranges[i];
    tie.correlationId = kFirstLaunch + static_cast<uint32_t>(i);
    append(buffer, bytes, tie);
  }
  fake.ranges.clear();
  fake.take(nullptr, 0, buffer, size, bytes);
})

extern "C" __attribute__((visibility("default"))) CUptiResult cuptiActivityGetNextRecord(
    uint8_t* buffer, size_t bytes, CUpti_Activity** record) {
  auto* next = reinterpret_cast<uint8_t*>(*record);
  if (next == nullptr)
    next = buffer;
  else
    next += (*record)->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                ? sizeof(CUpti_ActivityKernel10)
                : sizeof(CUpti_ActivityExternalCorrelation);
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return next < buffer + bytes ? CUPTI_SUCCESS : CUPTI_ERROR_MAX_LIMIT_REACHED;
}

FAKE(cuptiProfilerInitialize, (CUpti_Profiler_Initialize_Params*),
     if (!fake.counts) return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES)
FAKE(cuptiProfilerDeInitialize, (CUpti_Profiler_DeInitialize_Params*))
FAKE(cuptiDeviceGetChipName, (CUpti_Device_GetChipName_Params * chip), chip->pChipName = "GH100")
FAKE(cuptiProfilerGetCounterAvailability, (CUpti_Profiler_GetCounterAvailability_Params * params),
     params->counterAvailabilityImageSize = 8)
FAKE(cuptiProfilerHostInitialize, (CUpti_Profiler_Host_Initialize_Params*))
FAKE(cuptiProfilerHostDeinitialize, (CUpti_Profiler_Host_Deinitialize_Params*))
FAKE(cuptiProfilerHostConfigAddMetrics, (CUpti_Profiler_Host_ConfigAddMetrics_Params*))
FAKE(cuptiProfilerHostGetConfigImageSize, (CUpti_Profiler_Host_GetConfigImageSize_Params * params),
     params->configImageSize = 8)
FAKE(cuptiProfilerHostGetConfigImage, (CUpti_Profiler_Host_GetConfigImage_Params*))
FAKE(cuptiProfilerHostEvaluateToGpuValues,
     (CUpti_Profiler_Host_EvaluateToGpuValues_Params * params), {
       params->pMetricValues[0] = 1000.0 * static_cast<double>(params->rangeIndex + 1);
       params->pMetricValues[1] = 500;
       params->pMetricValues[2] = 25;
     })
FAKE(cuptiRangeProfilerEnable, (CUpti_RangeProfiler_Enable_Params*), fake.runs = 0)
FAKE(cuptiRangeProfilerDisable, (CUpti_RangeProfiler_Disable_Params*))
FAKE(cuptiRangeProfilerSetConfig, (CUpti_RangeProfiler_SetConfig_Params*))
FAKE(cuptiRangeProfilerStart, (CUpti_RangeProfiler_Start_Params*))
FAKE(cuptiRangeProfilerStop, (CUpti_RangeProfiler_Stop_Params * params),
     params->isAllPassSubmitted = ++fake.runs == 2)
FAKE(cuptiRangeProfilerDecodeData, (CUpti_RangeProfiler_DecodeData_Params*))
FAKE(cuptiRangeProfilerGetCounterDataSize, (CUpti_RangeProfiler_GetCounterDataSize_Params * params),
     params->counterDataSize = 8)
FAKE(cuptiRangeProfilerCounterDataImageInitialize,
     (CUpti_RangeProfiler_CounterDataImage_Initialize_Params*))
FAKE(cuptiRangeProfilerGetCounterDataInfo, (CUpti_RangeProfiler_GetCounterDataInfo_Params * params),
     params->numTotalRanges = fake.told)

/// Whether counters may be read from now on.
extern "C" __attribute__((visibility("default"))) void fake_cupti_allow_counters(bool allow) {
  state().counts = allow;
}
/// Kinds of records that are switched on.
extern "C" __attribute__((visibility("default"))) int fake_cupti_kinds() {
  return state().kinds;
}

#endif
