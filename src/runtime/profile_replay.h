#pragma once

#include <memory>
#include <vector>

#include "runtime/graph_replay.h"
#include "runtime/step_timer.h"

namespace tenon {

/// Profiled runs of a context on a device with streams: all steps as one captured graph with the
/// recording of an event between each two, so that the times are the device's and not those of a
/// host that launches too slowly. What cannot be captured is launched step by step with events in
/// between. A time lasts from the end of the step ahead to the step's own end: it holds the start
/// of its kernels, which no longer overlaps with the end of the step ahead, and the event's record.
class ProfileReplay {
 public:
  explicit ProfileReplay(Device& device) : device_(device) {}

  using Work = std::function<Status(Queue queue, StepTimer& timer)>;
  /// Runs once, returns when that has ended, and reports its steps. The graph is kept for as long
  /// as the addresses stay.
  Status run(const GraphReplay::Addresses& addresses, Queue queue, StepTimes& times,
             const Work& work);

 private:
  void start_over(const GraphReplay::Addresses& addresses);
  Status capture(const Work& work);
  Result<bool> may_capture(Queue queue) const;

  Device& device_;
  DeviceHandle stream_;               ///< To capture on: the caller's may be the default one.
  GraphReplay::Held addresses_;       ///< The graph's.
  std::unique_ptr<StepTimer> timer_;  ///< The graph's events.
  DeviceHandle graph_;
  int failures_ = 0;  ///< Of captures.
};

}  // namespace tenon
