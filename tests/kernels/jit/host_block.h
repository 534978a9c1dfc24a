#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

/// A block of a kernel's threads on the host, for kernels' loops over tiles and stages: one thread
/// stands for the first lane of each warp.
namespace tenon::host_block {

struct Index3 {
  unsigned x = 0;
};

/// Of shared memory (mbarrier) and of the block (bar.sync).
class Barriers {
 public:
  void create(uint32_t at, int arrivals) {
    const std::lock_guard lock(mutex_);
    in_memory_[at] = {arrivals, arrivals, 0, 0};
  }
  void arrive(uint32_t at, int64_t expected_bytes = 0) {
    const std::lock_guard lock(mutex_);
    InMemory& one = in_memory_.at(at);
    if (--one.pending < 0) throw std::runtime_error("too many arrivals");
    one.bytes += expected_bytes;
    finish_phase(one);
  }
  void bring(uint32_t at, int64_t bytes) {
    const std::lock_guard lock(mutex_);
    InMemory& one = in_memory_.at(at);
    one.bytes -= bytes;
    finish_phase(one);
  }
  void wait(uint32_t at, uint32_t parity) {
    await([&] { return in_memory_.at(at).phase % 2 != parity; });
  }
  /// Counts a warp for a barrier of `threads`; the round that it belongs to.
  int64_t arrive_of(int number, int threads) {
    const std::lock_guard lock(mutex_);
    OfBlock& one = of_block_[number];
    const int64_t round = one.rounds;
    if ((one.threads += 32) == threads) one = {0, round + 1}, changed_.notify_all();
    return round;
  }
  void wait_of(int number, int threads) {
    const int64_t round = arrive_of(number, threads);
    await([&] { return of_block_[number].rounds > round; });
  }
  void give_up() {
    const std::lock_guard lock(mutex_);
    given_up_ = true;
    changed_.notify_all();
  }

 private:
  struct InMemory {
    int arrivals = 0, pending = 0;
    int64_t bytes = 0;  ///< Expected and not here.
    uint32_t phase = 0;
  };
  struct OfBlock {
    int threads = 0;
    int64_t rounds = 0;
  };
  void finish_phase(InMemory& one) {
    if (one.pending > 0 || one.bytes != 0) return;
    one.pending = one.arrivals;
    ++one.phase;
    changed_.notify_all();
  }
  template <class Condition> void await(Condition holds) {
    std::unique_lock lock(mutex_);
    const bool came =
        changed_.wait_for(lock, std::chrono::seconds(20), [&] { return given_up_ || holds(); });
    if (!came) throw std::runtime_error("a wait without an end");
    if (given_up_) throw std::runtime_error("");
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<uint32_t, InMemory> in_memory_;
  std::map<int, OfBlock> of_block_;
  bool given_up_ = false;
};

/// Runs `warp(number)` for each warp of a block at once; the first error, or nothing.
inline std::string run_warps(int count, Barriers& barriers, const std::function<void(int)>& warp) {
  std::mutex mutex;
  std::string failure;
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i)
    threads.emplace_back([&, i] {
      try {
        warp(i);
      } catch (const std::exception& error) {
        const std::lock_guard lock(mutex);
        if (failure.empty()) failure = error.what();
        barriers.give_up();
      }
    });
  for (std::thread& thread : threads) thread.join();
  return failure;
}

// CUDA's names and the prelude's for kernels that are compiled inside `using namespace host_block`.
#define __device__
#define __global__
#define __grid_constant__
#define __shared__
#define __launch_bounds__(...)

using u32 = unsigned;
using u64 = unsigned long long;

struct TensorMap {};
struct CachePolicy {};

inline thread_local Index3 threadIdx, blockIdx;
inline Index3 gridDim;
inline Barriers* barriers = nullptr;  ///< Of the block that runs.
inline int threads_of_block = 0;

inline u32 shared_address(const void*) {
  return 1024;
}
inline int warp_of_block() {
  return static_cast<int>(threadIdx.x / 32);
}
inline void release_next() {}
inline void wait_previous() {}
inline void __syncwarp() {}
inline void __syncthreads() {
  barriers->wait_of(0, threads_of_block);
}
inline void barriers_visible() {}
inline void barrier_create(u32 at, u32 arrivals) {
  barriers->create(at, static_cast<int>(arrivals));
}
inline void barrier_arrive(u32 at) {
  barriers->arrive(at);
}
inline void barrier_expect(u32 at, u32 bytes) {
  barriers->arrive(at, bytes);
}
inline void barrier_wait(u32 at, u32 phase) {
  barriers->wait(at, phase);
}
inline void fetch_map(const TensorMap&) {}

}  // namespace tenon::host_block
