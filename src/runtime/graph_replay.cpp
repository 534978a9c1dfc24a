#include "runtime/graph_replay.h"

#include <algorithm>
#include <utility>

#include "runtime/control_kernel.h"

namespace tenon {
namespace {

constexpr size_t kKeptGraphs = 16;
/// A capture and its graph cost as much as some ordinary runs: it has paid off after so many
/// replays.
constexpr int kWorthwhile = 8;
constexpr int kMostPatience = 1 << 16;

/// Whether one launch of a graph does what its run does: the host decides nothing within, and there
/// is more than one launch to save.
bool is_worthwhile(const Program& program) {
  if (program.step_count() < 2 || program.load_count() > 0) return false;
  for (int i = 0; i < program.step_count(); ++i)
    if (dynamic_cast<const ControlKernel*>(program.step_kernel(i)) != nullptr) return false;
  return true;
}

}  // namespace

/// The oldest makes room. Where buffers change so often that graphs do not pay off, the next ones
/// are waited for longer.
void GraphReplay::add(const Addresses& addresses) {
  if (entries_.size() == kKeptGraphs) {
    Entry& oldest = entries_.front();
    if (oldest.graph != nullptr) {
      if (oldest.replays < kWorthwhile) patience_ = std::min(2 * patience_, kMostPatience);
      retired_.add(std::make_shared<Entry>(std::move(oldest)));
    }
    entries_.erase(entries_.begin());
  }
  Entry& entry = entries_.emplace_back();
  entry.addresses = Held(addresses);
  entry.addresses.program.reset();
  entry.program = addresses.program;
}

Status GraphReplay::run(const Addresses& addresses, Queue queue,
                        const std::function<Status(Queue)>& work) {
  if (gave_up_) return work(queue);
  Streams& streams = *device_.streams();
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const Entry& entry) { return entry.is_of(addresses); });
  if (found == entries_.end()) {
    add(addresses);
    return work(queue);
  }
  std::rotate(found, found + 1, entries_.end());
  Entry& entry = entries_.back();
  TENON_ASSIGN(const bool capturing, streams.is_capturing(queue.stream));
  if (capturing) return work(queue);
  ++entry.runs;
  TENON_ASSIGN(const bool due, is_due(entry, *addresses.program, queue.stream));
  if (due) TENON_TRY(capture(entry, addresses, work));
  if (entry.graph == nullptr) return work(queue);
  ++entry.replays;
  return streams.launch_graph(entry.graph.get(), queue.stream);
}

Result<bool> GraphReplay::is_due(Entry& entry, const Program& program, void* stream) const {
  if (entry.graph != nullptr || !entry.capturable) return false;
  if (when_ == When::kAsked) return true;
  if (entry.runs <= patience_) return false;
  entry.capturable = is_worthwhile(program);
  if (!entry.capturable) return false;
  // Kernels of a graph have the priority of the stream that they were captured on.
  TENON_ASSIGN(const int priority, device_.streams()->priority(stream));
  return priority == 0;
}

Status GraphReplay::capture(Entry& entry, const Addresses& addresses,
                            const std::function<Status(Queue)>& work) {
  Streams& streams = *device_.streams();
  if (stream_ == nullptr) {
    TENON_ASSIGN(stream_, streams.make_stream());
  }
  auto graph = streams.capture(stream_.get(), [&] { return work({nullptr, stream_.get()}); });
  entry.capturable = graph.ok();
  if (graph.ok()) {
    entry.graph = std::move(graph).value();
    entry.addresses.program = addresses.program;
  } else if (when_ == When::kRepeated) {
    failure_ = graph.error().message;
    gave_up_ = true;
  }
  return {};
}

}  // namespace tenon
