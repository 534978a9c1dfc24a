// The part of CudaDevice that is Streams, and timing by it.
#include <algorithm>
#include <cmath>

#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define TENON_HAVE_NVTX 1
#endif

#include "base/environment.h"
#include "device/cuda/cuda_device.h"
#include "device/cuda/driver.h"
#include "device/cuda/kernel_counters.h"
#include "device/cuda/kernel_recorder.h"

namespace tenon::cuda {
namespace {

CUstream as_stream(void* stream) {
  return static_cast<CUstream>(stream);
}
CUevent as_event(void* event) {
  return static_cast<CUevent>(event);
}

/// Launches up to this long are timed several in a graph, so that starting them does not count.
constexpr double kShortLaunch = 0.25;
/// Launches that are timed, at least; of short ones, for each of the first eight that are asked
/// for, up to so many, or as take so many milliseconds.
constexpr int kShortLaunches = 3, kMultiplied = 8, kLongLaunches = 6;
/// Replays of such a graph, at most as many as launches are asked for.
constexpr int kReplays = 5;
constexpr double kGraphMilliseconds = 0.1;

}  // namespace

Result<DeviceHandle> CudaDevice::make_stream() {
  TENON_TRY(activate());
  CUstream stream = nullptr;
  TENON_DRIVER(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
  return owned(stream, driver().cuStreamDestroy);
}

Result<DeviceHandle> CudaDevice::make_event(bool timed, bool blocking) {
  TENON_TRY(activate());
  CUevent event = nullptr;
  unsigned flags = CU_EVENT_DEFAULT;
  if (!timed) flags |= CU_EVENT_DISABLE_TIMING;
  if (blocking) flags |= CU_EVENT_BLOCKING_SYNC;
  TENON_DRIVER(cuEventCreate, &event, flags);
  return owned(event, driver().cuEventDestroy);
}

Result<DeviceHandle> CudaDevice::make_pinned(size_t bytes) {
  TENON_TRY(activate());
  void* memory = nullptr;
  TENON_DRIVER(cuMemHostAlloc, &memory, std::max<size_t>(bytes, 1), CU_MEMHOSTALLOC_PORTABLE);
  return owned(memory, driver().cuMemFreeHost);
}

Result<size_t> CudaDevice::free_memory() {
  TENON_TRY(activate());
  size_t free = 0, total = 0;
  TENON_DRIVER(cuMemGetInfo, &free, &total);
  return free;
}

Status CudaDevice::record(void* event, void* stream) {
  TENON_TRY(activate());
  TENON_DRIVER(cuEventRecord, as_event(event), as_stream(stream));
  return {};
}

Status CudaDevice::record_in_graph(void* event, void* stream) {
  TENON_DRIVER(cuEventRecordWithFlags, as_event(event), as_stream(stream),
               CU_EVENT_RECORD_EXTERNAL);
  return {};
}

Status CudaDevice::wait(void* stream, void* event) {
  TENON_TRY(activate());
  TENON_DRIVER(cuStreamWaitEvent, as_stream(stream), as_event(event), 0);
  return {};
}

Result<bool> CudaDevice::has_ended(void* event) {
  TENON_TRY(activate());
  const CUresult code = driver().cuEventQuery(as_event(event));
  if (code != CUDA_SUCCESS && code != CUDA_ERROR_NOT_READY)
    return driver_error(code, "cuEventQuery");
  return code == CUDA_SUCCESS;
}

Status CudaDevice::synchronize_event(void* event) {
  TENON_TRY(activate());
  TENON_DRIVER(cuEventSynchronize, as_event(event));
  return {};
}

Status CudaDevice::synchronize_stream(void* stream) {
  TENON_TRY(activate());
  TENON_DRIVER(cuStreamSynchronize, as_stream(stream));
  return {};
}

Result<double> CudaDevice::elapsed(void* start, void* end) {
  float milliseconds = 0;
  TENON_DRIVER(cuEventElapsedTime, &milliseconds, as_event(start), as_event(end));
  return static_cast<double>(milliseconds);
}

Result<bool> CudaDevice::is_capturing(void* stream) {
  if (stream == nullptr) return false;
  CUstreamCaptureStatus status = CU_STREAM_CAPTURE_STATUS_NONE;
  TENON_DRIVER(cuStreamIsCapturing, as_stream(stream), &status);
  return status != CU_STREAM_CAPTURE_STATUS_NONE;
}

Result<int> CudaDevice::priority(void* stream) {
  int priority = 0;
  if (stream != nullptr) TENON_DRIVER(cuStreamGetPriority, as_stream(stream), &priority);
  return priority;
}

bool CudaDevice::is_profiled() const {
  static const bool by_tool = profiler_is_attached();
  return by_tool || is_recording() || is_counting();
}

/// A graph of the work, whose launches run when it is instantiated and launched.
Result<DeviceHandle> CudaDevice::record(void* stream, const std::function<Status()>& work) {
  TENON_TRY(activate());
  TENON_DRIVER(cuStreamBeginCapture, as_stream(stream), CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  const Status status = work();
  CUgraph graph = nullptr;
  const CUresult ended = driver().cuStreamEndCapture(as_stream(stream), &graph);
  DeviceHandle owner = owned(graph, driver().cuGraphDestroy);
  TENON_TRY(status);
  if (ended != CUDA_SUCCESS) return driver_error(ended, "cuStreamEndCapture");
  return owner;
}

Result<DeviceHandle> CudaDevice::capture(void* stream, const std::function<Status()>& work) {
  TENON_ASSIGN(const DeviceHandle graph, record(stream, work));
  CUgraphExec executable = nullptr;
  TENON_DRIVER(cuGraphInstantiate, &executable, static_cast<CUgraph>(graph.get()), 0);
  return owned(executable, driver().cuGraphExecDestroy);
}

Status CudaDevice::load_kernels(void* stream, const std::function<Status()>& work) {
  TENON_TRY(record(stream, work));
  return {};
}

Status CudaDevice::launch_graph(void* graph, void* stream) {
  TENON_DRIVER(cuGraphLaunch, static_cast<CUgraphExec>(graph), as_stream(stream));
  return {};
}

Status CudaDevice::leave_captures_alone() {
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  TENON_DRIVER(cuThreadExchangeStreamCaptureMode, &mode);
  return {};
}

void CudaDevice::prepare_ranges() {
#ifdef TENON_HAVE_NVTX
  // The first range would find its functions while other threads read where they are.
  [[maybe_unused]] static const bool ready = (nvtxInitialize(nullptr), true);
#endif
}
void CudaDevice::push_range(const char* name) {
#ifdef TENON_HAVE_NVTX
  nvtxRangePushA(name);
#endif
  begin_recorded_range(name);
}
void CudaDevice::pop_range() {
  end_recorded_range();
#ifdef TENON_HAVE_NVTX
  nvtxRangePop();
#endif
}

Status CudaDevice::profile(bool on) {
  TENON_TRY(activate());
  if (on)
    TENON_DRIVER(cuProfilerStart);
  else
    TENON_DRIVER(cuProfilerStop);
  return {};
}

MultiprocessorLimits CudaDevice::multiprocessor_limits() const {
  const auto number = [&](CUdevice_attribute attribute) -> int64_t {
    int value = 0;
    return driver().cuDeviceGetAttribute(&value, attribute, device_) == CUDA_SUCCESS ? value : 0;
  };
  return {.threads = number(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
          .blocks = number(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR),
          .registers = number(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR),
          .shared_bytes = number(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR),
          .reserved_bytes = number(CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK),
          .count = multiprocessors()};
}

Result<KernelRecords> CudaDevice::record_kernels(const std::function<Status()>& work) {
  TENON_TRY(activate());
  KernelRecords records;
  TENON_ASSIGN(records.kernels, record_launches(work));
  const MultiprocessorLimits limits = multiprocessor_limits();
  for (KernelRecord& record : records.kernels) set_occupancy(record, limits);
  const Status counted = count_launches(context_, device_, records.kernels, work);
  if (!counted.ok()) records.without_counters = counted.error().message;
  return records;
}

/// One behind the other, and one wait for all.
Result<double> CudaDevice::median_time(Queue queue, int repeats,
                                       const std::function<Status()>& work) {
  std::vector<DeviceHandle> events(static_cast<size_t>(repeats) + 1);
  for (DeviceHandle& event : events) {
    TENON_ASSIGN(event, make_event(true, false));
  }
  TENON_TRY(record(events[0].get(), queue.stream));
  for (size_t i = 1; i < events.size(); ++i) {
    TENON_TRY(work());
    TENON_TRY(record(events[i].get(), queue.stream));
  }
  TENON_TRY(synchronize_event(events.back().get()));
  std::vector<double> times(static_cast<size_t>(repeats));
  for (size_t i = 0; i < times.size(); ++i) {
    TENON_ASSIGN(times[i], elapsed(events[i].get(), events[i + 1].get()));
  }
  std::ranges::sort(times);
  return times[times.size() / 2];
}

Result<double> CudaDevice::time(Queue queue, int repeats, const std::function<Status()>& launch) {
  TENON_TRY(activate());
  TENON_ASSIGN(const double rough, median_time(queue, 2, launch));
  if (rough > kShortLaunch) return median_time(queue, std::max(repeats, kLongLaunches), launch);
  const double filling = kGraphMilliseconds / std::max(rough, kGraphMilliseconds / kShortLaunches);
  const int copies = std::max(repeats, static_cast<int>(std::min(repeats, kMultiplied) * filling));
  const auto graph = capture(queue.stream, [&]() -> Status {
    for (int i = 0; i < copies; ++i) TENON_TRY(launch());
    return {};
  });
  if (!graph.ok()) return median_time(queue, repeats, launch);
  TENON_ASSIGN(const double total, median_time(queue, std::min(repeats, kReplays), [&] {
                 return launch_graph(graph->get(), queue.stream);
               }));
  return total / copies;
}

}  // namespace tenon::cuda
