#include "runtime/retired_objects.h"

namespace tenon {

void RetiredObjects::add(std::shared_ptr<const void> object) {
  if (object != nullptr && device_.streams() != nullptr) objects_.push_back({std::move(object)});
}

Status RetiredObjects::record(Streams& streams, Queue queue) {
  if (objects_.back().event != nullptr) return {};
  TENON_ASSIGN(DeviceHandle event, streams.make_event(false, false));
  TENON_TRY(streams.record(event.get(), queue.stream));
  const auto shared = std::make_shared<DeviceHandle>(std::move(event));
  for (Retired& retired : objects_)
    if (retired.event == nullptr) retired.event = {shared, shared->get()};
  return {};
}

Status RetiredObjects::collect(Queue queue) {
  if (objects_.empty()) return {};
  Streams& streams = *device_.streams();
  TENON_ASSIGN(const bool capturing, streams.is_capturing(queue.stream));
  if (capturing) return {};  // The run is only recorded.
  TENON_TRY(record(streams, queue));
  while (!objects_.empty()) {
    TENON_ASSIGN(const bool ended, streams.has_ended(objects_.front().event.get()));
    if (!ended) break;
    objects_.erase(objects_.begin());
  }
  return {};
}

}  // namespace tenon
