#pragma once

#include <deque>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "device/streams.h"
#include "kernels/backend.h"
#include "plan/plan.h"
#include "runtime/context.h"
#include "runtime/engine.h"

namespace tenon {

/// An engine of a plan that runs for the usual shapes, by itself: for builds that time wholes.
class PlanTrial {
 public:
  explicit PlanTrial(const Backend& backend) : backend_(backend), device_(*backend.device) {}

  /// Runs once. Not where data decides shapes.
  Status prepare(const Plan& plan);
  /// Milliseconds of a run, on a GPU as a replayed graph.
  Result<double> time(int runs);
  /// The shortest time of each layer, by its place in the graph.
  Result<std::map<int, double>> layers(int runs);
  /// The outputs' bytes.
  Result<std::vector<std::vector<std::byte>>> results();
  const ConcreteGraph& graph() const { return context_->program()->graph(); }
  const Program& program() const { return *context_->program(); }

 private:
  Queue queue() const { return {nullptr, stream_.get()}; }
  Result<void*> memory(size_t bytes);
  Status give_inputs(const Plan& plan);

  const Backend& backend_;
  Device& device_;
  std::vector<DeviceBuffer> buffers_;
  std::deque<Tensor> on_host_;
  std::vector<std::pair<void*, size_t>> outputs_;
  DeviceHandle stream_;
  std::shared_ptr<Engine> engine_;
  std::unique_ptr<Context> context_;
};

}  // namespace tenon
