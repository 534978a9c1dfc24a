#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "device/device.h"
#include "device/streams.h"
#include "ir/graph.h"

namespace tenon {

/// Receives the time of each step of a run that is profiled.
class StepTimes {
 public:
  virtual ~StepTimes() = default;
  virtual void report(const Node& node, double milliseconds) = 0;
};

/// The shortest time of each step of several runs, by node.
class ShortestTimes final : public StepTimes {
 public:
  void report(const Node& node, double milliseconds) override {
    const auto [entry, is_new] = by_node.try_emplace(&node, milliseconds);
    if (!is_new) entry->second = std::min(entry->second, milliseconds);
  }
  std::map<const Node*, double> by_node;
};

/// Measures the steps of one run: on a device with streams by an event behind each step, which does
/// not wait for it, elsewhere by the clock.
class StepTimer {
 public:
  /// Of a run that is measured at its end and behind the first `ahead` steps alone.
  struct Boundary {
    size_t ahead, steps;
  };

  /// `captured`: the run is recorded into a graph, and each launch of that writes the times anew.
  explicit StepTimer(Device& device, bool captured = false,
                     std::optional<Boundary> boundary = std::nullopt)
      : streams_(device.streams()), captured_(captured), boundary_(boundary) {}

  Status begin(Queue queue);
  Status end(const Node& node, Queue queue);
  /// Adds the time since the last end or lap to a sum; for devices without streams.
  void lap(size_t index);
  void end_laps(size_t index, const Node& node);
  /// The measured times, in the order of the steps. With streams waits until the run has ended.
  Status report(StepTimes& times, Queue queue);
  /// The same for a run in a graph of the application's, which was launched on any stream.
  Status report_launched(StepTimes& times);
  /// Milliseconds up to the boundary, and up to the run's end, which is waited for.
  struct Parts {
    double ahead = 0, all = 0;
  };
  Result<Parts> parts(Queue queue);

 private:
  using Clock = std::chrono::steady_clock;
  struct Mark {
    DeviceHandle event;
    const Node* node;  ///< The node that ended there; null at the run's start.
    double milliseconds = 0;
  };
  Status mark(const Node* node, Queue queue);
  Status mark_boundary(Queue queue);
  double since_last();
  Status report_events(StepTimes& times);

  Streams* streams_;
  bool captured_;
  std::optional<Boundary> boundary_;
  size_t ended_ = 0;  ///< Steps of a run with a boundary.
  Clock::time_point last_;
  std::vector<Mark> marks_;
  std::vector<double> laps_;
};

}  // namespace tenon
