#include "device/cuda/kernel_recorder.h"

#include <cxxabi.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>

#include "device/cuda/cupti.h"
#include "device/cuda/shared_library.h"

namespace tenon::cuda {

#ifdef TENON_HAVE_CUPTI

namespace {

// The newest record that the headers know: members that are read have kept their places since
// CUDA 12.
#if CUPTI_API_VERSION >= 130000
using KernelActivity = CUpti_ActivityKernel10;
#else
using KernelActivity = CUpti_ActivityKernel9;
#endif

constexpr size_t kBufferBytes = size_t{4} << 20;
/// Calls of the driver and of the runtime are recorded because ranges are tied to kernels by them.
constexpr CUpti_ActivityKind kKinds[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                         CUPTI_ACTIVITY_KIND_DRIVER, CUPTI_ACTIVITY_KIND_RUNTIME,
                                         CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};
constexpr CUpti_ExternalCorrelationKind kRanges = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

std::string demangled(const char* name) {
  if (name == nullptr) return {};
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(
      abi::__cxa_demangle(name, nullptr, nullptr, &status), std::free);
  return status == 0 && text != nullptr ? text.get() : name;
}

/// The library's records so far. It calls functions without an argument of ours, from threads
/// of its own: there is one of these.
class Recording {
 public:
  void begin() {
    const std::lock_guard lock(mutex_);
    kernels_.clear();
    ranges_.clear();
    range_of_.clear();
    is_on_ = true;
  }
  void end() { is_on_ = false; }
  bool is_on() const { return is_on_; }

  uint64_t number_of(const char* range) {
    const std::lock_guard lock(mutex_);
    ranges_.emplace_back(range);
    return ranges_.size() - 1;
  }

  void read(uint8_t* buffer, size_t bytes) {
    const auto cupti = load_cupti();
    if (!cupti.ok()) return;
    const std::lock_guard lock(mutex_);
    CUpti_Activity* record = nullptr;
    while ((*cupti)->cuptiActivityGetNextRecord(buffer, bytes, &record) == CUPTI_SUCCESS)
      note(*record);
  }

  /// In the order of their launches.
  std::vector<KernelRecord> kernels() {
    const std::lock_guard lock(mutex_);
    std::ranges::stable_sort(kernels_, {}, &Seen::launch);
    uint64_t first = UINT64_MAX;
    for (const Seen& kernel : kernels_) first = std::min(first, kernel.start);
    std::vector<KernelRecord> records;
    for (Seen& kernel : kernels_) {
      if (const auto range = range_of_.find(kernel.launch); range != range_of_.end())
        kernel.record.range = ranges_[range->second];
      kernel.record.start_ms = static_cast<double>(kernel.start - first) * 1e-6;
      records.push_back(std::move(kernel.record));
    }
    return records;
  }

 private:
  struct Seen {
    uint32_t launch;
    uint64_t start;  ///< Nanoseconds.
    KernelRecord record;
  };

  void note(const CUpti_Activity& activity) {
    if (activity.kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
      const auto& tie = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(activity);
      if (tie.externalKind == kRanges && tie.externalId < ranges_.size())
        range_of_[tie.correlationId] = tie.externalId;
    }
    if (activity.kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)
      note_kernel(reinterpret_cast<const KernelActivity&>(activity));
  }

  void note_kernel(const KernelActivity& activity) {
    KernelRecord record;
    record.name = demangled(activity.name);
    record.ms = static_cast<double>(activity.end - activity.start) * 1e-6;
    record.grid = {activity.gridX, activity.gridY, activity.gridZ};
    record.block = {activity.blockX, activity.blockY, activity.blockZ};
    record.stream = activity.streamId;
    record.registers = activity.registersPerThread;
    record.shared_bytes =
        int64_t{activity.staticSharedMemory} + int64_t{activity.dynamicSharedMemory};
    record.local_bytes = activity.localMemoryPerThread;
    kernels_.push_back({activity.correlationId, activity.start, std::move(record)});
  }

  std::atomic<bool> is_on_ = false;
  std::mutex mutex_;
  std::vector<Seen> kernels_;
  std::vector<std::string> ranges_;
  std::map<uint32_t, uint64_t> range_of_;  ///< By the number of a call.
};

std::unique_ptr<Recording> make_recording() {
  return std::make_unique<Recording>();
}
Recording& recording() {
  return *opened_once<make_recording>();
}

std::unique_ptr<std::mutex> make_turn() {
  return std::make_unique<std::mutex>();
}

void CUPTIAPI give_buffer(uint8_t** buffer, size_t* bytes, size_t* most_records) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(256, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;
}
void CUPTIAPI take_buffer(CUcontext, uint32_t, uint8_t* buffer, size_t, size_t bytes) {
  if (bytes > 0) recording().read(buffer, bytes);
  std::free(buffer);
}

/// Kinds of records that are wanted as long as it lives.
class Wanted {
 public:
  explicit Wanted(const Cupti& cupti) : cupti_(cupti) {}
  ~Wanted() {
    for (size_t i = 0; i < count_; ++i) cupti_.cuptiActivityDisable(kKinds[i]);
  }
  Wanted(const Wanted&) = delete;
  Status begin() {
    for (const CUpti_ActivityKind kind : kKinds) {
      TENON_CUPTI(cupti_, cuptiActivityEnable, kind);
      ++count_;
    }
    return {};
  }

 private:
  const Cupti& cupti_;
  size_t count_ = 0;
};

}  // namespace

Result<std::vector<KernelRecord>> record_launches(const std::function<Status()>& work) {
  const std::lock_guard turn(*opened_once<make_turn>());
  TENON_ASSIGN(const Cupti* const cupti, load_cupti());
  TENON_CUPTI(*cupti, cuptiActivityRegisterCallbacks, give_buffer, take_buffer);
  Wanted wanted(*cupti);
  TENON_TRY(wanted.begin());
  recording().begin();
  const Status status = work();
  recording().end();
  TENON_CUPTI(*cupti, cuptiActivityFlushAll, CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  TENON_TRY(status);
  std::vector<KernelRecord> kernels = recording().kernels();
  if (kernels.empty()) return unsupported("CUPTI told of no kernel of the run");
  return kernels;
}

bool is_recording() {
  return recording().is_on();
}

void begin_recorded_range(const char* name) {
  if (!recording().is_on()) return;
  if (const auto cupti = load_cupti(); cupti.ok())
    (*cupti)->cuptiActivityPushExternalCorrelationId(kRanges, recording().number_of(name));
}

void end_recorded_range() {
  if (!recording().is_on()) return;
  uint64_t last = 0;
  if (const auto cupti = load_cupti(); cupti.ok())
    (*cupti)->cuptiActivityPopExternalCorrelationId(kRanges, &last);
}

#else

Result<std::vector<KernelRecord>> record_launches(const std::function<Status()>&) {
  return unsupported("this build of the library was made without the headers of CUPTI");
}
bool is_recording() {
  return false;
}
void begin_recorded_range(const char*) {}
void end_recorded_range() {}

#endif

}  // namespace tenon::cuda
