#pragma once

/// Where plans are built for and run, and what a program needs of a GPU that does without the CUDA
/// runtime: memory, streams, events, captured graphs.

#include "NvInfer.h"

namespace tenon {

/// The CPU among the numbers of devices; GPUs count from 0.
inline constexpr int32_t kCpuDevice = -1;
/// What applies when nothing is set: the GPU that is current on the calling thread, or the first
/// one; where there is no GPU, the CPU.
inline constexpr int32_t kDefaultDevice = -2;

/// Sets the device that plans are built for: the number of a GPU, kCpuDevice or kDefaultDevice.
/// Default: kDefaultDevice. Returns false for a configuration of another library.
TENSORRTAPI bool setBuildDevice(nvinfer1::IBuilderConfig& config, int32_t device) noexcept;
/// Has plans built for the GPU that `text` describes (GpuDescription::text), which need not be in
/// this machine: kernels are chosen by the configuration's timing cache, which must have been
/// filled on such a GPU, and by preference where it has nothing. Returns false where the text is no
/// such description.
TENSORRTAPI bool setBuildDeviceDescription(nvinfer1::IBuilderConfig& config,
                                           const char* text) noexcept;
/// Sets the GPU, by its number or kDefaultDevice, that plans for GPUs are loaded on from now on;
/// plans for the CPU run on the CPU. Returns false for a runtime of another library.
TENSORRTAPI bool setRunDevice(nvinfer1::IRuntime& runtime, int32_t device) noexcept;
/// Returns whether an engine runs on a GPU. Thread-safe.
TENSORRTAPI bool runsOnGpu(const nvinfer1::ICudaEngine& engine) noexcept;
/// Has enqueueV3() replay its launches as one captured graph for each shape and set of addresses,
/// made at the second run with them, or, where `replay` is false, put each launch on the stream.
/// Until it is called, runs that come again and again are replayed where no caller sees the
/// difference. Runs on a stream that is being captured already, and plans with steps that cannot be
/// captured, go on without. Returns false on a CPU.
TENSORRTAPI bool setGraphReplay(nvinfer1::IExecutionContext& context, bool replay) noexcept;

/// Facts for people.
struct GpuDescription {
  char name[128];
  char libraries[256];  ///< Versions of the driver and of the libraries that kernels come from.
  int32_t computeCapability;  ///< 90 for 9.0.
  int32_t multiprocessors;
  int64_t memoryBytes;
  int64_t sharedMemoryPerBlock;
  char others[128];  ///< Versions of libraries that no kernel needs.
  char text[1024];   ///< All that builds depend on, for setBuildDeviceDescription().
  char all[512];     ///< Names of all GPUs, separated by line ends; this one is `index` among them.
  int32_t index;
  char uuid[64];
  int64_t sharedMemoryPerMultiprocessor;
  int32_t memoryBusBits;
  bool correctsMemory;  ///< ECC is on.
  float clockGhz, memoryClockGhz;
};

/// A GPU. Functions that make something give null, the others false, when they fail; the reason
/// goes to the logger. Delete it after everything it made. Thread-safe; a stream is for one thread
/// at a time.
class IGpu {
 public:
  virtual ~IGpu() noexcept = default;
  /// Returns the facts about the GPU; numbers that the driver does not tell are 0.
  virtual GpuDescription describe() const noexcept = 0;
  /// Returns device memory, at a multiple of 256 bytes, or null. Free it with destroy().
  virtual void* allocate(size_t bytes) noexcept = 0;
  /// Returns page-locked host memory, or null. Free it with destroy().
  virtual void* allocatePinned(size_t bytes) noexcept = 0;
  /// Returns a stream, or null. Free it with destroy().
  virtual cudaStream_t createStream() noexcept = 0;
  /// Returns an event that records times, or null; threads that wait for a `blocking` one sleep,
  /// others spin. Free it with destroy().
  virtual cudaEvent_t createEvent(bool blocking) noexcept = 0;
  /// Frees anything that the functions above and capture() returned. Other addresses are ignored.
  virtual void destroy(void* made) noexcept = 0;

  /// Puts a copy of `bytes` bytes between host and device, either way, on a stream.
  virtual bool copyAsync(void* to, const void* from, size_t bytes,
                         cudaStream_t stream) noexcept = 0;
  /// Puts an event on a stream.
  virtual bool record(cudaEvent_t event, cudaStream_t stream) noexcept = 0;
  /// Has later work on the stream wait for the event.
  virtual bool wait(cudaStream_t stream, cudaEvent_t event) noexcept = 0;
  /// Waits until the event has been reached.
  virtual bool synchronize(cudaEvent_t event) noexcept = 0;
  /// Waits until the work on the stream has ended.
  virtual bool synchronize(cudaStream_t stream) noexcept = 0;
  /// Returns the milliseconds between two events that have been reached; negative on failure.
  virtual float elapsed(cudaEvent_t start, cudaEvent_t end) noexcept = 0;

  /// Calls `work`, which must not throw, with `context` while the stream is being captured, and
  /// returns the work as an executable graph; null where it cannot be captured or `work` returned
  /// false. Free it with destroy().
  virtual void* capture(cudaStream_t stream, bool (*work)(void* context),
                        void* context) noexcept = 0;
  /// Puts a graph of capture() on a stream.
  virtual bool launchGraph(void* graph, cudaStream_t stream) noexcept = 0;

  /// Starts or stops the recording of profilers that wait for it (cudaProfilerStart and
  /// cudaProfilerStop).
  virtual bool profile(bool on) noexcept = 0;
};

/// Opens a GPU by its number, or the one that kDefaultDevice stands for, to be freed with delete
/// after everything that it made. Null, with an error logged, where there is none.
TENSORRTAPI IGpu* openGpu(int32_t device, nvinfer1::ILogger& logger) noexcept;

}  // namespace tenon
