#include "runtime/profile_replay.h"

namespace tenon {
namespace {

/// The first capture may meet what happens only once, such as a library that makes its handle.
constexpr int kCaptures = 2;

}  // namespace

Status ProfileReplay::run(const GraphReplay::Addresses& addresses, Queue queue, StepTimes& times,
                          const Work& work) {
  if (!addresses_.are(addresses)) start_over(addresses);
  TENON_ASSIGN(const bool capturable, may_capture(queue));
  if (graph_ == nullptr && capturable) TENON_TRY(capture(work));
  if (graph_ == nullptr || !capturable) {
    StepTimer timer(device_);
    TENON_TRY(work(queue, timer));
    return timer.report(times, queue);
  }
  TENON_TRY(device_.streams()->launch_graph(graph_.get(), queue.stream));
  return timer_->report(times, queue);
}

void ProfileReplay::start_over(const GraphReplay::Addresses& addresses) {
  graph_.reset();
  timer_.reset();
  addresses_ = GraphReplay::Held(addresses);
  failures_ = 0;
}

/// Not while the application itself captures what is put on its stream.
Result<bool> ProfileReplay::may_capture(Queue queue) const {
  TENON_ASSIGN(const bool capturing, device_.streams()->is_capturing(queue.stream));
  return !capturing && failures_ < kCaptures;
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
