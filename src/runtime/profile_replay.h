#pragma once

#include <memory>
#include <vector>

#include "runtime/graph_replay.h"
#include "runtime/step_timer.h"

namespace tenon {

/// Profiled runs of a context on a device with streams: all steps as one captured graph with the
/// recording of an event between each two, so that the times are the device's and not those of a
/// host that launches too slowly. Steps that cannot be captured are launched step by step with
/// events in between; where the application captures the stream, its graph gets the events. A time
/// lasts from the end of the step ahead to the step's own end: it holds the start of its kernels,
/// which no longer overlaps with the end of the step ahead, and the event's record.
class ProfileReplay {
 public:
  explicit ProfileReplay(Device& device) : device_(device) {}

  using Work = std::function<Status(Queue queue, StepTimer& timer)>;
  /// Puts a run on the queue. The graph is kept for as long as the addresses stay.
  Status run(const GraphReplay::Addresses& addresses, Queue queue, const Work& work);
  /// Waits for the last run and reports its steps, once; those of a run that an application
  /// captured as often as it launches its graph.
  Status report(StepTimes& times);
  bool is_captured() const { return last_ != nullptr && last_ == captured_.get(); }

 private:
  void start_over(const GraphReplay::Addresses& addresses);
  Status capture(const Work& work);

  Device& device_;
  DeviceHandle stream_;                  ///< To capture on: the caller's may be the default one.
  GraphReplay::Held addresses_;          ///< The graph's.
  std::unique_ptr<StepTimer> timer_;     ///< The graph's events.
  std::unique_ptr<StepTimer> single_;    ///< Of a run that was launched step by step.
  std::unique_ptr<StepTimer> captured_;  ///< Of a run in the application's graph.
  StepTimer* last_ = nullptr;            ///< The last run's, while it is to be reported.
  Queue queue_;                          ///< The last run's.
  DeviceHandle graph_;
  int failures_ = 0;  ///< Of captures.
};

}  // namespace tenon
