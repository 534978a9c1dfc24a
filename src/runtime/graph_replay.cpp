#include "runtime/graph_replay.h"

#include <algorithm>

namespace tenon {
namespace {

constexpr size_t kKeptGraphs = 8;

}  // namespace

Status GraphReplay::run(const Addresses& addresses, Queue queue,
                        const std::function<Status(Queue)>& work) {
  Streams& streams = *device_.streams();
  const auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.addresses.are(addresses);
  });
  if (found == entries_.end()) {
    if (entries_.size() == kKeptGraphs) entries_.erase(entries_.begin());
    entries_.push_back({GraphReplay::Held(addresses)});
    return work(queue);
  }
  std::rotate(found, found + 1, entries_.end());
  Entry& entry = entries_.back();
  TENON_ASSIGN(const bool capturing, streams.is_capturing(queue.stream));
  if (capturing) return work(queue);
  if (entry.graph == nullptr && entry.capturable) TENON_TRY(capture(entry, work));
  if (entry.graph == nullptr) return work(queue);
  return streams.launch_graph(entry.graph.get(), queue.stream);
}

Status GraphReplay::capture(Entry& entry, const std::function<Status(Queue)>& work) {
  Streams& streams = *device_.streams();
  if (stream_ == nullptr) {
    TENON_ASSIGN(stream_, streams.make_stream());
  }
  auto graph = streams.capture(stream_.get(), [&] { return work({nullptr, stream_.get()}); });
  entry.capturable = graph.ok();
  if (graph.ok()) entry.graph = std::move(graph).value();
  return {};
}

}  // namespace tenon
