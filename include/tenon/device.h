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

/// The device that plans are built for. False when the configuration is not of this library.
TENSORRTAPI bool setBuildDevice(nvinfer1::IBuilderConfig& config, int32_t device) noexcept;
/// Plans are built for the GPU that `text` describes (GpuDescription::text), which need not be
/// here: kernels are chosen by the configuration's timing cache, which must have been filled on
/// such a GPU, and by preference where it has nothing. False when the text is no such description.
TENSORRTAPI bool setBuildDeviceDescription(nvinfer1::IBuilderConfig& config,
                                           const char* text) noexcept;
/// The GPU that plans for GPUs are loaded on; those for the CPU run on the CPU anyway.
TENSORRTAPI bool setRunDevice(nvinfer1::IRuntime& runtime, int32_t device) noexcept;
/// Whether an engine runs on a GPU.
TENSORRTAPI bool runsOnGpu(const nvinfer1::ICudaEngine& engine) noexcept;
/// Replays launches as one captured graph for each shape and set of addresses, made at the second
/// run with them. Streams that are being captured already, and plans with steps that cannot be,
/// run as without. On a GPU only; false elsewhere.
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
  int32_t memoryBusBits;  ///< This and what follows is 0 where it is not known.
  bool correctsMemory;    ///< ECC is on.
  float clockGhz, memoryClockGhz;
};

/// A GPU. Functions that make something give null, the others false, when they fail; the reason
/// goes to the logger. Delete it after everything it made.
class IGpu {
 public:
  virtual ~IGpu() noexcept = default;
  virtual GpuDescription describe() const noexcept = 0;
  virtual void* allocate(size_t bytes) noexcept = 0;
  /// Page-locked host memory.
  virtual void* allocatePinned(size_t bytes) noexcept = 0;
  virtual cudaStream_t createStream() noexcept = 0;
  /// Timed; with `blocking`, threads that wait for it sleep.
  virtual cudaEvent_t createEvent(bool blocking) noexcept = 0;
  /// Whatever the functions above and capture() made.
  virtual void destroy(void* made) noexcept = 0;

  /// Between host and device, either way.
  virtual bool copyAsync(void* to, const void* from, size_t bytes,
                         cudaStream_t stream) noexcept = 0;
  virtual bool record(cudaEvent_t event, cudaStream_t stream) noexcept = 0;
  /// What is put on the stream from now on waits for the event.
  virtual bool wait(cudaStream_t stream, cudaEvent_t event) noexcept = 0;
  virtual bool synchronize(cudaEvent_t event) noexcept = 0;
  virtual bool synchronize(cudaStream_t stream) noexcept = 0;
  /// Milliseconds between two events; negative on failure.
  virtual float elapsed(cudaEvent_t start, cudaEvent_t end) noexcept = 0;

  /// What `work` puts on the stream, as an executable graph; null when it cannot be recorded.
  virtual void* capture(cudaStream_t stream, bool (*work)(void* context),
                        void* context) noexcept = 0;
  virtual bool launchGraph(void* graph, cudaStream_t stream) noexcept = 0;

  /// Profilers that were told to wait for it record from here on, or no longer (cudaProfilerStart
  /// and cudaProfilerStop).
  virtual bool profile(bool on) noexcept = 0;
};

/// The GPU of that number (or kDefaultDevice), or null.
TENSORRTAPI IGpu* openGpu(int32_t device, nvinfer1::ILogger& logger) noexcept;

}  // namespace tenon
