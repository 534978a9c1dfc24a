#pragma once

#include <list>
#include <memory>
#include <optional>
#include <vector>

#include "runtime/graph_replay.h"
#include "runtime/step_boundaries.h"
#include "runtime/step_timer.h"

namespace tenon {

/// Profiled runs of a context on a device with streams: all steps as one captured graph, so that
/// the times are the device's and not those of a host that launches too slowly. The first run has
/// an event behind each step: such a time lasts from the end of the step ahead to the step's own
/// end and holds the event's cost and the start of kernels, which no longer overlaps with the end
/// of the step ahead. Later runs have one event inside (StepBoundaries), and report each
/// step's part of a run without events, as far as it is known. Steps that cannot be
/// captured are launched step by step with events in between; where the application captures the
/// stream, its graph gets the events.
class ProfileReplay {
 public:
  explicit ProfileReplay(Device& device) : device_(device) {}

  using Work = std::function<Status(Queue queue, StepTimer& timer)>;
  /// Puts a run on the queue. Graphs of the last few addresses are kept.
  Status run(const GraphReplay::Addresses& addresses, Queue queue, const Work& work);
  /// Waits for the last run and reports its steps, once; those of a run that an application
  /// captured as often as it launches its graph.
  Status report(StepTimes& times);
  bool is_captured() const { return last_ != nullptr && last_ == captured_.get(); }

 private:
  /// Of a run with some addresses.
  struct Graph {
    GraphReplay::Held addresses;
    std::unique_ptr<StepTimer> timer = {};
    std::optional<size_t> boundary = {};  ///< Nothing: it has all events.
    DeviceHandle graph = {};              ///< Null: not captured yet.
  };
  Graph& find(const GraphReplay::Addresses& addresses);
  bool is_due(const Graph& graph) const;
  Status capture(Graph& graph, const Work& work);
  Status report_all(Graph& graph, StepTimes& times);
  Status report_boundary(Graph& graph, StepTimes& times);

  Device& device_;
  DeviceHandle stream_;                     ///< To capture on: the caller's may be the default one.
  std::shared_ptr<const Program> program_;  ///< Of all below.
  std::list<Graph> graphs_;                 ///< Most recently used first.
  std::vector<const Node*> steps_;          ///< As a run with all events told them.
  std::optional<StepBoundaries> boundaries_;  ///< Once that run was reported.
  std::unique_ptr<StepTimer> single_;         ///< Of a run that was launched step by step.
  std::unique_ptr<StepTimer> captured_;       ///< Of a run in the application's graph.
  StepTimer* last_ = nullptr;                 ///< The last run's, while it is to be reported.
  Graph* last_graph_ = nullptr;               ///< Null: the last run was not one of ours.
  Queue queue_;                               ///< The last run's.
  int failures_ = 0;                          ///< Of captures.
};

}  // namespace tenon
