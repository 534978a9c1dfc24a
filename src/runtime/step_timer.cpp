#include "runtime/step_timer.h"

namespace tenon {

Status StepTimer::begin(Queue queue) {
  marks_.clear();
  ended_ = 0;
  if (streams_ != nullptr) TENON_TRY(mark(nullptr, queue));
  if (boundary_) return mark_boundary(queue);
  last_ = Clock::now();
  return {};
}

Status StepTimer::end(const Node& node, Queue queue) {
  ++ended_;
  if (boundary_) return mark_boundary(queue);
  if (streams_ != nullptr) return mark(&node, queue);
  marks_.push_back({{}, &node, since_last()});
  return {};
}

Status StepTimer::mark(const Node* node, Queue queue) {
  TENON_ASSIGN(DeviceHandle event, streams_->make_event(true, false));
  TENON_TRY(captured_ ? streams_->record_in_graph(event.get(), queue.stream)
                      : streams_->record(event.get(), queue.stream));
  marks_.push_back({std::move(event), node});
  return {};
}

Status StepTimer::mark_boundary(Queue queue) {
  if (ended_ != boundary_->ahead && ended_ != boundary_->steps) return {};
  return mark(nullptr, queue);
}

double StepTimer::since_last() {
  const auto now = Clock::now();
  const double milliseconds = std::chrono::duration<double, std::milli>(now - last_).count();
  last_ = now;
  return milliseconds;
}

void StepTimer::lap(size_t index) {
  if (index >= laps_.size()) laps_.resize(index + 1);
  laps_[index] += since_last();
}

void StepTimer::end_laps(size_t index, const Node& node) {
  marks_.push_back({{}, &node, laps_[index]});
  laps_[index] = 0;
}

Status StepTimer::report(StepTimes& times, Queue queue) {
  if (streams_ == nullptr) {
    for (const Mark& mark : marks_) times.report(*mark.node, mark.milliseconds);
    return {};
  }
  TENON_TRY(streams_->synchronize_stream(queue.stream));
  return report_events(times);
}

Status StepTimer::report_launched(StepTimes& times) {
  if (!marks_.empty()) TENON_TRY(streams_->synchronize_event(marks_.back().event.get()));
  return report_events(times);
}

Result<StepTimer::Parts> StepTimer::parts(Queue queue) {
  TENON_TRY(streams_->synchronize_stream(queue.stream));
  void* const begin = marks_.front().event.get();
  Parts parts;
  TENON_ASSIGN(parts.ahead, streams_->elapsed(begin, marks_.at(1).event.get()));
  TENON_ASSIGN(parts.all, streams_->elapsed(begin, marks_.back().event.get()));
  return parts;
}

Status StepTimer::report_events(StepTimes& times) {
  for (size_t i = 1; i < marks_.size(); ++i) {
    TENON_ASSIGN(const double time,
                 streams_->elapsed(marks_[i - 1].event.get(), marks_[i].event.get()));
    times.report(*marks_[i].node, time);
  }
  return {};
}

}  // namespace tenon
