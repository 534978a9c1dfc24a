#include "device/cuda/kernel_counters.h"

#include <atomic>

#include "base/counted.h"
#include "device/cuda/cupti.h"

namespace tenon::cuda {
namespace {

std::atomic<int> now_counting = 0;

}  // namespace

bool is_counting() {
  return now_counting > 0;
}

#ifdef TENON_HAVE_CUPTI_COUNTERS

namespace {

struct CountingScope {
  CountingScope() { ++now_counting; }
  ~CountingScope() { --now_counting; }
  CountingScope(const CountingScope&) = delete;
};

/// In the order of set_counters().
constexpr const char* kMetrics[] = {
    "dram__bytes_read.sum", "dram__bytes_write.sum",
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active"};
constexpr size_t kCount = std::size(kMetrics);
/// Times that a run is repeated for counters that do not fit into one: kernels are, not runs.
constexpr int kMostRuns = 4;

void set_counters(KernelRecord& record, std::span<const double> values) {
  record.bytes_read = values[0];
  record.bytes_written = values[1];
  record.tensor_share = values[2] / 100;
}

/// A structure of parameters that knows its size.
#define TENON_CUPTI_PARAMETERS(type, name) \
  type name{};                             \
  name.structSize = type##_STRUCT_SIZE

/// The counters of one context, from begin() to the end of its life.
class Counters {
 public:
  explicit Counters(const CuptiCounters& cupti) : cupti_(cupti) {}

  ~Counters() {
    if (profiler_ != nullptr) {
      TENON_CUPTI_PARAMETERS(CUpti_RangeProfiler_Disable_Params, disable);
      disable.pRangeProfilerObject = profiler_;
      cupti_.cuptiRangeProfilerDisable(&disable);
    }
    if (host_ != nullptr) {
      TENON_CUPTI_PARAMETERS(CUpti_Profiler_Host_Deinitialize_Params, end);
      end.pHostObject = host_;
      cupti_.cuptiProfilerHostDeinitialize(&end);
    }
    if (is_begun_) {
      TENON_CUPTI_PARAMETERS(CUpti_Profiler_DeInitialize_Params, end);
      cupti_.cuptiProfilerDeInitialize(&end);
    }
  }
  Counters(const Counters&) = delete;

  Status begin(CUcontext context, int ordinal, size_t kernels) {
    TENON_CUPTI_PARAMETERS(CUpti_Profiler_Initialize_Params, begin);
    TENON_CUPTI(cupti_, cuptiProfilerInitialize, &begin);
    is_begun_ = true;
    TENON_TRY(describe(context, ordinal));
    TENON_CUPTI_PARAMETERS(CUpti_RangeProfiler_Enable_Params, enable);
    enable.ctx = context;
    TENON_CUPTI(cupti_, cuptiRangeProfilerEnable, &enable);
    profiler_ = enable.pRangeProfilerObject;
    return make_room(kernels);
  }

  Status run(const std::function<Status()>& work, size_t kernels) {
    TENON_CUPTI_PARAMETERS(CUpti_RangeProfiler_SetConfig_Params, set);
    set.pRangeProfilerObject = profiler_;
    set.configSize = config_.size();
    set.pConfig = config_.data();
    set.counterDataImageSize = counted_.size();
    set.pCounterDataImage = counted_.data();
    set.range = CUPTI_AutoRange;
    set.replayMode = CUPTI_KernelReplay;
    set.maxRangesPerPass = kernels;
    set.numNestingLevels = 1;
    set.minNestingLevel = 1;
    TENON_CUPTI(cupti_, cuptiRangeProfilerSetConfig, &set);
    bool complete = false;
    for (int i = 0; i < kMostRuns && !complete; ++i) {
      TENON_ASSIGN(complete, run_once(work));
    }
    TENON_CUPTI_PARAMETERS(CUpti_RangeProfiler_DecodeData_Params, decode);
    decode.pRangeProfilerObject = profiler_;
    TENON_CUPTI(cupti_, cuptiRangeProfilerDecodeData, &decode);
    return {};
  }

  Status read(std::span<KernelRecord> kernels) {
    TENON_CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataInfo_Params, info);
    info.pCounterDataImage = counted_.data();
    info.counterDataImageSize = counted_.size();
    TENON_CUPTI(cupti_, cuptiRangeProfilerGetCounterDataInfo, &info);
    if (info.numTotalRanges != kernels.size())
      return unsupported("counters are of {}, where the run has {}",
                         counted(info.numTotalRanges, "kernel"), kernels.size());
    for (size_t i = 0; i < kernels.size(); ++i) {
      double values[kCount] = {};
      const char* names[kCount] = {};
      std::ranges::copy(kMetrics, names);
      TENON_CUPTI_PARAMETERS(CUpti_Profiler_Host_EvaluateToGpuValues_Params, evaluate);
      evaluate.pHostObject = host_;
      evaluate.pCounterDataImage = counted_.data();
      evaluate.counterDataImageSize = counted_.size();
      evaluate.rangeIndex = i;
      evaluate.ppMetricNames = names;
      evaluate.numMetrics = kCount;
      evaluate.pMetricValues = values;
      TENON_CUPTI(cupti_, cuptiProfilerHostEvaluateToGpuValues, &evaluate);
      set_counters(kernels[i], values);
    }
    return {};
  }

 private:
  /// Which counters there are, and how they are read on this chip.
  Status describe(CUcontext context, int ordinal) {
    TENON_CUPTI_PARAMETERS(CUpti_Device_GetChipName_Params, chip);
    chip.deviceIndex = static_cast<size_t>(ordinal);
    TENON_CUPTI(cupti_, cuptiDeviceGetChipName, &chip);
    TENON_CUPTI_PARAMETERS(CUpti_Profiler_GetCounterAvailability_Params, available);
    available.ctx = context;
    TENON_CUPTI(cupti_, cuptiProfilerGetCounterAvailability, &available);
    std::vector<uint8_t> availability(available.counterAvailabilityImageSize);
    available.pCounterAvailabilityImage = availability.data();
    TENON_CUPTI(cupti_, cuptiProfilerGetCounterAvailability, &available);
    TENON_CUPTI_PARAMETERS(CUpti_Profiler_Host_Initialize_Params, host);
    host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host.pChipName = chip.pChipName;
    host.pCounterAvailabilityImage = availability.data();
    TENON_CUPTI(cupti_, cuptiProfilerHostInitialize, &host);
    host_ = host.pHostObject;
    const char* names[kCount] = {};
    std::ranges::copy(kMetrics, names);
    TENON_CUPTI_PARAMETERS(CUpti_Profiler_Host_ConfigAddMetrics_Params, add);
    add.pHostObject = host_;
    add.ppMetricNames = names;
    add.numMetrics = kCount;
    TENON_CUPTI(cupti_, cuptiProfilerHostConfigAddMetrics, &add);
    return make_config();
  }

  Status make_config() {
    TENON_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImageSize_Params, size);
    size.pHostObject = host_;
    TENON_CUPTI(cupti_, cuptiProfilerHostGetConfigImageSize, &size);
    config_.resize(size.configImageSize);
    TENON_CUPTI_PARAMETERS(CUpti_Profiler_Host_GetConfigImage_Params, image);
    image.pHostObject = host_;
    image.configImageSize = config_.size();
    image.pConfigImage = config_.data();
    TENON_CUPTI(cupti_, cuptiProfilerHostGetConfigImage, &image);
    return {};
  }

  Status make_room(size_t kernels) {
    const char* names[kCount] = {};
    std::ranges::copy(kMetrics, names);
    TENON_CUPTI_PARAMETERS(CUpti_RangeProfiler_GetCounterDataSize_Params, size);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = names;
    size.numMetrics = kCount;
    size.maxNumOfRanges = kernels;
    size.maxNumRangeTreeNodes = static_cast<uint32_t>(kernels);
    TENON_CUPTI(cupti_, cuptiRangeProfilerGetCounterDataSize, &size);
    counted_.resize(size.counterDataSize);
    TENON_CUPTI_PARAMETERS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params, begin);
    begin.pRangeProfilerObject = profiler_;
    begin.counterDataSize = counted_.size();
    begin.pCounterData = counted_.data();
    TENON_CUPTI(cupti_, cuptiRangeProfilerCounterDataImageInitialize, &begin);
    return {};
  }

  /// Whether all counters were read.
  Result<bool> run_once(const std::function<Status()>& work) {
    TENON_CUPTI_PARAMETERS(CUpti_RangeProfiler_Start_Params, start);
    start.pRangeProfilerObject = profiler_;
    TENON_CUPTI(cupti_, cuptiRangeProfilerStart, &start);
    const Status status = work();
    TENON_CUPTI_PARAMETERS(CUpti_RangeProfiler_Stop_Params, stop);
    stop.pRangeProfilerObject = profiler_;
    TENON_CUPTI(cupti_, cuptiRangeProfilerStop, &stop);
    TENON_TRY(status);
    return stop.isAllPassSubmitted != 0;
  }

  const CuptiCounters& cupti_;
  bool is_begun_ = false;
  CUpti_Profiler_Host_Object* host_ = nullptr;
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<uint8_t> config_, counted_;
};

}  // namespace

Status count_launches(CUcontext context, int ordinal, std::span<KernelRecord> kernels,
                      const std::function<Status()>& work) {
  TENON_ASSIGN(const CuptiCounters* const cupti, load_cupti_counters());
  const CountingScope scope;
  Counters counters(*cupti);
  TENON_TRY(counters.begin(context, ordinal, kernels.size()));
  TENON_TRY(counters.run(work, kernels.size()));
  return counters.read(kernels);
}

#else

Status count_launches(CUcontext, int, std::span<KernelRecord>, const std::function<Status()>&) {
  return unsupported("this build of the library was made without the headers of CUPTI's counters");
}

#endif

}  // namespace tenon::cuda
