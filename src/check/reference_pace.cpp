#include "check/reference_pace.h"

#include <algorithm>

namespace tenon {

void ReferencePace::expect(const Node& node, const KernelWork& work) {
  if (!open_.try_emplace(&node, work).second) return;
  operations_ += work.operations;
  bytes_ += work.bytes;
}

void ReferencePace::did(const Node& node) {
  const auto found = open_.find(&node);
  if (found == open_.end()) return;
  const KernelWork work = found->second;
  open_.erase(found);
  const auto now = Clock::now();
  const std::chrono::duration<double> took = now - std::exchange(since_, now);
  rates_.add(work.operations, work.bytes, took.count());
  if (ran_) ran_(work, took.count());
  operations_ = std::max(operations_ - work.operations, 0.0);
  bytes_ = std::max(bytes_ - work.bytes, 0.0);
  if (told_) told_(rates_.seconds(operations_, bytes_));
}

}  // namespace tenon
