// NCCL's functions among threads of this process.
#include "fake_nccl.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>

namespace api_test {

/// The ranks that meet in a call.
struct FakeWorld {
  explicit FakeWorld(int ranks)
      : from(static_cast<size_t>(ranks)), to(from.size()), color(from.size()), key(from.size()) {}
  int size() const { return static_cast<int>(from.size()); }
  /// Waits for all ranks; `work` is done by the last.
  void meet(const std::function<void()>& enter, const std::function<void()>& work) {
    std::unique_lock lock(mutex);
    enter();
    const int own = round;
    if (++arrived < size()) {
      changed.wait(lock, [&] { return round != own; });
      return;
    }
    work();
    arrived = 0;
    ++round;
    changed.notify_all();
  }

  std::vector<const void*> from;
  std::vector<void*> to;
  std::vector<int> color, key;
  std::map<int, std::shared_ptr<FakeWorld>> parts;  ///< Of the last split, by color.
  std::mutex mutex;
  std::condition_variable changed;
  int arrived = 0, round = 0;
};

namespace {

struct Rank {
  std::shared_ptr<FakeWorld> world;
  size_t rank;
};
std::atomic<int> living = 0;

void* make_rank(std::shared_ptr<FakeWorld> world, size_t rank) {
  ++living;
  return new Rank{std::move(world), rank};
}

enum { kSuccess = 0, kInvalid = 4 };
constexpr int kFloat = 7;

size_t bytes_of(int type) {
  constexpr size_t kBytes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return kBytes[type];
}

float reduced(const FakeWorld& world, size_t index, int reduction) {
  std::vector<float> values;
  for (const void* from : world.from) values.push_back(static_cast<const float*>(from)[index]);
  float result = values[0];
  for (size_t i = 1; i < values.size(); ++i) {
    if (reduction == 1) result *= values[i];
    if (reduction == 2) result = std::max(result, values[i]);
    if (reduction == 3) result = std::min(result, values[i]);
    if (reduction == 0 || reduction == 4) result += values[i];
  }
  return reduction == 4 ? result / static_cast<float>(values.size()) : result;
}

int together(void* all, const void* from, void* to, const std::function<void(FakeWorld&)>& work) {
  const auto& [world, rank] = *static_cast<Rank*>(all);
  world->meet([&, place = rank] { world->from[place] = from, world->to[place] = to; },
              [&] { work(*world); });
  return kSuccess;
}

}  // namespace

FakeRanks::FakeRanks(int ranks) : world_(std::make_shared<FakeWorld>(ranks)) {
  for (int i = 0; i < ranks; ++i)
    communicators_.push_back(make_rank(world_, static_cast<size_t>(i)));
}
FakeRanks::~FakeRanks() {
  for (void* one : communicators_) delete static_cast<Rank*>(one);
  living -= static_cast<int>(communicators_.size());
}
void* FakeRanks::operator[](int rank) const {
  return communicators_[static_cast<size_t>(rank)];
}
int fake_communicators() {
  return living;
}

}  // namespace api_test

using namespace api_test;

#define NCCL extern "C" __attribute__((visibility("default")))

NCCL int ncclAllReduce(const void* from, void* to, size_t count, int type, int reduction, void* all,
                       void*) {
  if (type != kFloat) return kInvalid;
  return together(all, from, to, [&](FakeWorld& world) {
    for (size_t i = 0; i < count; ++i) {
      const float value = reduced(world, i, reduction);
      for (void* result : world.to) static_cast<float*>(result)[i] = value;
    }
  });
}
NCCL int ncclReduce(const void* from, void* to, size_t count, int type, int reduction, int root,
                    void* all, void*) {
  if (type != kFloat) return kInvalid;
  return together(all, from, to, [&](FakeWorld& world) {
    for (size_t i = 0; i < count; ++i)
      static_cast<float*>(world.to[static_cast<size_t>(root)])[i] = reduced(world, i, reduction);
  });
}
NCCL int ncclReduceScatter(const void* from, void* to, size_t received, int type, int reduction,
                           void* all, void*) {
  if (type != kFloat) return kInvalid;
  return together(all, from, to, [&](FakeWorld& world) {
    for (size_t rank = 0; rank < world.to.size(); ++rank)
      for (size_t i = 0; i < received; ++i)
        static_cast<float*>(world.to[rank])[i] = reduced(world, rank * received + i, reduction);
  });
}
NCCL int ncclAllGather(const void* from, void* to, size_t sent, int type, void* all, void*) {
  const size_t bytes = sent * bytes_of(type);
  return together(all, from, to, [&](FakeWorld& world) {
    for (void* result : world.to)
      for (size_t rank = 0; rank < world.from.size(); ++rank)
        std::memcpy(static_cast<char*>(result) + rank * bytes, world.from[rank], bytes);
  });
}
NCCL int ncclBroadcast(const void* from, void* to, size_t count, int type, int root, void* all,
                       void*) {
  return together(all, from, to, [&](FakeWorld& world) {
    for (void* result : world.to)
      std::memcpy(result, world.from[static_cast<size_t>(root)], count * bytes_of(type));
  });
}
NCCL int ncclCommCount(const void* all, int* ranks) {
  *ranks = static_cast<const Rank*>(all)->world->size();
  return kSuccess;
}
NCCL int ncclCommUserRank(const void* all, int* rank) {
  *rank = static_cast<int>(static_cast<const Rank*>(all)->rank);
  return kSuccess;
}
NCCL int ncclCommSplit(void* all, int color, int key, void** part, void*) {
  const auto& [world, rank] = *static_cast<Rank*>(all);
  world->meet([&, place = rank] { world->color[place] = color, world->key[place] = key; },
              [&] {
                world->parts.clear();
                for (const int one : world->color)
                  world->parts[one] = std::make_shared<FakeWorld>(
                      static_cast<int>(std::ranges::count(world->color, one)));
              });
  *part = color < 0 ? nullptr : make_rank(world->parts[color], static_cast<size_t>(key));
  return kSuccess;
}
NCCL int ncclCommDestroy(void* all) {
  delete static_cast<Rank*>(all);
  --living;
  return kSuccess;
}
NCCL const char* ncclGetErrorString(int) {
  return "an invalid argument";
}
