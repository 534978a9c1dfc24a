#include "runtime/profile_replay.h"

#include <utility>

namespace tenon {
namespace {

/// The first capture may meet one-time work, such as a library that makes its handle.
constexpr int kCaptures = 2;

}  // namespace

Status ProfileReplay::run(const GraphReplay::Addresses& addresses, Queue queue, const Work& work) {
  last_ = nullptr;
  TENON_ASSIGN(const bool capturing, device_.streams()->is_capturing(queue.stream));
  if (capturing) {
    captured_ = std::make_unique<StepTimer>(device_, true);
    TENON_TRY(work(queue, *captured_));
    last_ = captured_.get();
    return {};
  }
  queue_ = queue;
  if (!addresses_.are(addresses)) start_over(addresses);
  if (graph_ == nullptr && failures_ < kCaptures) TENON_TRY(capture(work));
  if (graph_ == nullptr) {
    single_ = std::make_unique<StepTimer>(device_);
    TENON_TRY(work(queue, *single_));
    last_ = single_.get();
    return {};
  }
  TENON_TRY(device_.streams()->launch_graph(graph_.get(), queue.stream));
  last_ = timer_.get();
  return {};
}

Status ProfileReplay::report(StepTimes& times) {
  if (is_captured()) return captured_->report_launched(times);
  if (last_ == nullptr) return {};
  return std::exchange(last_, nullptr)->report(times, queue_);
}

void ProfileReplay::start_over(const GraphReplay::Addresses& addresses) {
  graph_.reset();
  timer_.reset();
  addresses_ = GraphReplay::Held(addresses);
  failures_ = 0;
}

Status ProfileReplay::capture(const Work& work) {
  Streams& streams = *device_.streams();
  if (stream_ == nullptr) {
    TENON_ASSIGN(stream_, streams.make_stream());
  }
  timer_ = std::make_unique<StepTimer>(device_, true);
  auto graph = streams.capture(stream_.get(), [&] {
    return work({nullptr, stream_.get()}, *timer_);
  });
  failures_ += graph.ok() ? 0 : 1;
  if (graph.ok()) graph_ = std::move(graph).value();
  return {};
}

}  // namespace tenon
