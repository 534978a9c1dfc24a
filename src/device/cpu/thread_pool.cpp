#include "device/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace tenon::cpu {
namespace {

// Helpers look for work this long before they sleep: about 20 us, so that the steps of one
// inference never pay for a wake-up, and an idle context leaves the core to others.
constexpr int kSpins = 4000;
// Chunks a loop is cut into per thread: enough that a thread that lost its core for a while is not
// waited for.
constexpr int64_t kChunksPerThread = 8;

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// One loop is a "generation". `ticket` packs the generation with the number of chunks not yet
// taken: only a successful exchange of it gives the right to read the loop's description, which
// then cannot change before this chunk is done. So a helper that wakes up late, for a loop that is
// over, never runs a chunk of the next one by mistake.
struct ThreadPool::State {
  explicit State(int threads) {
    for (int i = 1; i < threads; ++i) helpers.emplace_back([this, i] { help(i); });
  }
  ~State() {
    stop.store(true, std::memory_order_relaxed);
    generation.fetch_add(1, std::memory_order_release);
    generation.notify_all();
    for (std::thread& helper : helpers) helper.join();
  }

  static constexpr int kChunkBits = 32;
  static constexpr uint64_t kChunkMask = (uint64_t{1} << kChunkBits) - 1;

  void help(int worker) {
    uint32_t seen = 0;
    while (true) {
      seen = wait_for_change(seen);
      if (stop.load(std::memory_order_relaxed)) return;
      work(seen, worker);
    }
  }

  uint32_t wait_for_change(uint32_t seen) {
    for (int i = 0; i < kSpins; ++i) {
      const uint32_t now = generation.load(std::memory_order_acquire);
      if (now != seen) return now;
      pause_briefly();
    }
    sleepers.fetch_add(1, std::memory_order_seq_cst);
    uint32_t now = generation.load(std::memory_order_seq_cst);
    while (now == seen) {
      generation.wait(seen, std::memory_order_acquire);
      now = generation.load(std::memory_order_acquire);
    }
    sleepers.fetch_sub(1, std::memory_order_relaxed);
    return now;
  }

  void work(uint32_t current, int worker) {
    uint64_t taken = ticket.load(std::memory_order_acquire);
    while (static_cast<uint32_t>(taken >> kChunkBits) == current && (taken & kChunkMask) != 0) {
      if (!ticket.compare_exchange_weak(taken, taken - 1, std::memory_order_acq_rel)) continue;
      const int64_t chunk = chunks - static_cast<int64_t>(taken & kChunkMask);
      const int64_t begin = chunk * chunk_size;
      (*body)(begin, std::min(begin + chunk_size, count), worker);
      done.fetch_add(1, std::memory_order_release);
      taken = ticket.load(std::memory_order_acquire);
    }
  }

  void run(int64_t n, int64_t size, FunctionRef<void(int64_t, int64_t, int)> loop) {
    const uint32_t current = generation.load(std::memory_order_relaxed) + 1;
    const int64_t chunk_count = (n + size - 1) / size;
    body = &loop;
    count = n;
    chunk_size = size;
    done.store(0, std::memory_order_relaxed);
    chunks = chunk_count;
    ticket.store(uint64_t{current} << kChunkBits | static_cast<uint64_t>(chunk_count),
                 std::memory_order_release);
    generation.store(current, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0) generation.notify_all();
    work(current, 0);
    wait_for_chunks(chunk_count);
  }

  void wait_for_chunks(int64_t chunk_count) {
    for (int spins = 0; done.load(std::memory_order_acquire) < chunk_count; ++spins) {
      if (spins < kSpins) {
        pause_briefly();
      } else {
        std::this_thread::yield();  // the helper that holds a chunk may need this very core
      }
    }
  }

  alignas(64) std::atomic<uint32_t> generation{0};
  std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false};
  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<int64_t> done{0};
  const FunctionRef<void(int64_t, int64_t, int)>* body = nullptr;
  int64_t chunks = 0;
  int64_t count = 0;
  int64_t chunk_size = 0;
  std::vector<std::thread> helpers;
};

ThreadPool::ThreadPool(int threads) : state_(std::make_unique<State>(threads)) {}
ThreadPool::~ThreadPool() = default;

int ThreadPool::threads() const {
  return static_cast<int>(state_->helpers.size()) + 1;
}

void ThreadPool::parallel_for(int64_t count, int64_t grain,
                              FunctionRef<void(int64_t, int64_t, int)> body) {
  if (count <= 0) return;
  const int64_t wanted = threads() * kChunksPerThread;
  // Chunk numbers are 32 bits wide in a ticket.
  const int64_t smallest = std::max<int64_t>({grain, 1, count >> 30});
  const int64_t size = std::max(smallest, (count + wanted - 1) / wanted);
  if (threads() == 1 || size >= count) return body(0, count, 0);
  state_->run(count, size, body);
}

}  // namespace tenon::cpu
