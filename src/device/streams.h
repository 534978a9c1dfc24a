#pragma once

#include <cstddef>
#include <functional>
#include <memory>

#include "base/status.h"
#include "device/code_library.h"
#include "device/code_work.h"
#include "device/kernel_record.h"

namespace tenon {

/// Handles of the device's driver, destroyed with their owner.
using DeviceHandle = std::unique_ptr<void, std::function<void(void*)>>;

/// Asynchronous work on a device that has it: streams, events, pinned memory, captured graphs.
/// Thread-safe. All handles are those of CUDA (cudaStream_t and so on).
class Streams {
 public:
  virtual ~Streams() = default;
  /// A stream that does not wait for the default stream.
  virtual Result<DeviceHandle> make_stream() = 0;
  /// `timed` events measure time; `blocking` ones let a waiting thread sleep.
  virtual Result<DeviceHandle> make_event(bool timed, bool blocking) = 0;
  /// Page-locked host memory, which copies run asynchronously from and to.
  virtual Result<DeviceHandle> make_pinned(size_t bytes) = 0;
  /// Bytes of the device's memory that are free.
  virtual Result<size_t> free_memory() = 0;
  virtual CodeWork code_work() const { return {}; }
  /// Bytes of the cache that all launches share; 0 where it is not known.
  virtual size_t shared_cache_bytes() const { return 0; }

  virtual Status record(void* event, void* stream) = 0;
  /// On a stream that is being captured: each launch of the graph records the event anew.
  virtual Status record_in_graph(void* event, void* stream) = 0;
  /// Work put on the stream from now on waits for the event.
  virtual Status wait(void* stream, void* event) = 0;
  /// Whether the work ahead of a recorded event has ended.
  virtual Result<bool> has_ended(void* event) = 0;
  virtual Status synchronize_event(void* event) = 0;
  virtual Status synchronize_stream(void* stream) = 0;
  /// Milliseconds between two timed events that have happened.
  virtual Result<double> elapsed(void* start, void* end) = 0;

  /// 0 for most streams, and the lower the more urgent.
  virtual Result<int> priority(void* /*stream*/) { return 0; }
  /// A tool listens that shows the launches of each layer, which a graph's do not tell.
  virtual bool is_profiled() const { return false; }
  /// Whether the stream is being captured into a graph: never on the default one.
  virtual Result<bool> is_capturing(void* stream) = 0;
  /// The work that `work` puts on the stream, as an executable graph. Fails where it does something
  /// that cannot be recorded (waits for the device, say); the stream is usable afterwards.
  virtual Result<DeviceHandle> capture(void* stream, const std::function<Status()>& work) = 0;
  virtual Status launch_graph(void* graph, void* stream) = 0;
  /// Loads the code of the kernels that `work` puts on the stream, none of which runs. Fails as
  /// capture() does.
  virtual Status load_kernels(void* /*stream*/, const std::function<Status()>& /*work*/) {
    return {};
  }
  /// Nothing that the calling thread does from now on spoils a capture: neither one of another
  /// thread, nor its own, within which it may load code.
  virtual Status leave_captures_alone() { return {}; }

  /// A range that profilers show (NVTX), on the calling thread, up to pop_range(). Costs next to
  /// nothing where none listens.
  virtual void push_range(const char* /*name*/) {}
  virtual void pop_range() {}
  /// Profilers that were told to wait for it (nsys --capture-range=cudaProfilerApi) record from
  /// here on, or no longer.
  virtual Status profile(bool /*on*/) { return {}; }
  /// Tells of each kernel that `work` launches from the calling thread, outside of graphs. `work`
  /// waits until they have ended, and is run several times. Errors where nothing records kernels.
  virtual Result<KernelRecords> record_kernels(const std::function<Status()>& /*work*/) {
    return unsupported("the device does not record kernels");
  }
  /// Loads all of the code, which then stays loaded for as long as what this gives lives. Null on a
  /// device that loads none.
  virtual Result<std::shared_ptr<const void>> load_code(const CodeLibrary& /*code*/) {
    return std::shared_ptr<const void>();
  }
};

}  // namespace tenon
