#include "runtime/profile_replay.h"

#include <algorithm>
#include <utility>

namespace tenon {
namespace {

/// The first capture may meet one-time work, such as a library that makes its handle.
constexpr int kCaptures = 2;
/// Applications that copy while another run computes take turns between some sets of buffers.
constexpr size_t kGraphs = 4;

/// Keeps the times, too.
class Kept final : public StepTimes {
 public:
  explicit Kept(StepTimes& times) : times_(times) {}
  void report(const Node& node, double milliseconds) override {
    steps.push_back(&node);
    milliseconds_.push_back(milliseconds);
    times_.report(node, milliseconds);
  }
  std::vector<double> take() { return std::move(milliseconds_); }
  std::vector<const Node*> steps;

 private:
  StepTimes& times_;
  std::vector<double> milliseconds_;
};

}  // namespace

Status ProfileReplay::run(const GraphReplay::Addresses& addresses, Queue queue, const Work& work) {
  last_ = nullptr;
  last_graph_ = nullptr;
  TENON_ASSIGN(const bool capturing, device_.streams()->is_capturing(queue.stream));
  if (capturing) {
    captured_ = std::make_unique<StepTimer>(device_, true);
    TENON_TRY(work(queue, *captured_));
    last_ = captured_.get();
    return {};
  }
  queue_ = queue;
  Graph& graph = find(addresses);
  if (is_due(graph)) TENON_TRY(capture(graph, work));
  if (graph.graph == nullptr) {
    single_ = std::make_unique<StepTimer>(device_);
    TENON_TRY(work(queue, *single_));
    last_ = single_.get();
    return {};
  }
  TENON_TRY(device_.streams()->launch_graph(graph.graph.get(), queue.stream));
  last_ = graph.timer.get();
  last_graph_ = &graph;
  return {};
}

Status ProfileReplay::report(StepTimes& times) {
  if (is_captured()) return captured_->report_launched(times);
  StepTimer* const timer = std::exchange(last_, nullptr);
  if (timer == nullptr) return {};
  Graph* const graph = std::exchange(last_graph_, nullptr);
  if (graph == nullptr) return timer->report(times, queue_);
  return graph->boundary ? report_boundary(*graph, times) : report_all(*graph, times);
}

Status ProfileReplay::report_all(Graph& graph, StepTimes& times) {
  Kept kept(times);
  TENON_TRY(graph.timer->report(kept, queue_));
  steps_ = std::move(kept.steps);
  boundaries_.emplace(kept.take());
  return {};
}

Status ProfileReplay::report_boundary(Graph& graph, StepTimes& times) {
  TENON_ASSIGN(const StepTimer::Parts parts, graph.timer->parts(queue_));
  boundaries_->add(parts.ahead, parts.all);
  const std::vector<double> milliseconds = boundaries_->times();
  for (size_t i = 0; i < steps_.size(); ++i) times.report(*steps_[i], milliseconds[i]);
  return {};
}

ProfileReplay::Graph& ProfileReplay::find(const GraphReplay::Addresses& addresses) {
  if (program_ != addresses.program) {
    graphs_.clear();
    boundaries_.reset();
    program_ = addresses.program;
    failures_ = 0;
  }
  const auto found = std::ranges::find_if(
      graphs_, [&](const Graph& graph) { return graph.addresses.are(addresses); });
  if (found != graphs_.end()) {
    graphs_.splice(graphs_.begin(), graphs_, found);
  } else {
    graphs_.push_front({GraphReplay::Held(addresses)});
    if (graphs_.size() > kGraphs) graphs_.pop_back();
  }
  return graphs_.front();
}

/// Whether the next run needs a graph that there is not yet.
bool ProfileReplay::is_due(const Graph& graph) const {
  if (failures_ == kCaptures) return false;
  return graph.graph == nullptr || (boundaries_ && graph.boundary != boundaries_->next());
}

Status ProfileReplay::capture(Graph& graph, const Work& work) {
  Streams& streams = *device_.streams();
  if (stream_ == nullptr) {
    TENON_ASSIGN(stream_, streams.make_stream());
  }
  graph.graph.reset();
  graph.boundary.reset();
  std::optional<StepTimer::Boundary> boundary;
  if (boundaries_) {
    graph.boundary = boundaries_->next();
    boundary = {*graph.boundary, steps_.size()};
  }
  graph.timer = std::make_unique<StepTimer>(device_, true, boundary);
  auto captured = streams.capture(stream_.get(), [&] {
    return work({nullptr, stream_.get()}, *graph.timer);
  });
  failures_ += captured.ok() ? 0 : 1;
  if (captured.ok()) graph.graph = std::move(captured).value();
  return {};
}

}  // namespace tenon
