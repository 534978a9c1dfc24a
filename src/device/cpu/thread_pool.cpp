#include "device/cpu/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "base/arithmetic.h"
#include "base/call_number.h"
#include "base/parallel.h"
#include "device/cpu/placement.h"

namespace tenon::cpu {
namespace {

// Helpers look for work this long before they sleep: about 20 us, so that the steps of one
// inference never pay for a wake-up, and an idle context leaves the core to others.
constexpr int kSpins = 4000;
// Chunks a loop is cut into per thread, at least where there is as much to do: enough that a thread
// that lost its core for a while is not waited for.
constexpr int64_t kChunksPerThread = 8;
// Chunk numbers are 16 bits wide in a ticket, and there may be four times as many chunks as wanted.
constexpr int64_t kMostWanted = 16383;

/// So many indices a chunk, or fewer, so that each thread begins with as many chunks.
int64_t even_size(int64_t count, int64_t size, int64_t grain, int64_t threads) {
  const int64_t fewest = ceil_div(count, size);
  for (int64_t chunks = round_up(fewest, threads); chunks < 2 * fewest; chunks += threads) {
    const int64_t even = ceil_div(count, chunks);
    if (even >= grain && ceil_div(count, even) == chunks) return even;
  }
  return size;
}

inline void pause_briefly() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// One loop is a "generation". Every thread has a range of chunks of its own, so that in the loops
// of one inference a thread meets the data that it wrote itself; who is done takes from the ends of
// the others' ranges. A ticket packs the generation with the range: only a successful exchange of
// it gives the right to read the loop's description, which then cannot change before this chunk is
// done. So a helper that wakes up late, for a loop that is over, never runs a chunk of the next one
// by mistake.
struct ThreadPool::State {
  explicit State(int threads) : placement(threads), tickets(threads) {
    // Where the system gives fewer, those that there are take the others' ranges.
    start_threads(helpers, static_cast<size_t>(threads), [this] {
      set_call_number(0);  // They serve calls of all threads.
      help(++started);
    });
  }
  ~State() {
    stop.store(true, std::memory_order_relaxed);
    generation.fetch_add(1, std::memory_order_release);
    generation.notify_all();
    for (std::thread& helper : helpers) helper.join();
  }

  struct Range {
    uint32_t generation;
    uint16_t begin, end;
    static Range unpack(uint64_t bits) {
      return {static_cast<uint32_t>(bits >> 32), static_cast<uint16_t>(bits >> 16),
              static_cast<uint16_t>(bits)};
    }
    uint64_t pack() const {
      return uint64_t{generation} << 32 | uint64_t{begin} << 16 | uint64_t{end};
    }
  };
  struct alignas(64) Ticket {
    std::atomic<uint64_t> bits{0};
  };

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

  /// Takes a chunk of a thread's range: the first one of the own, the last one of another's.
  /// Returns its number, or -1 when none is left.
  static int64_t take(std::atomic<uint64_t>& ticket, uint32_t current, bool own) {
    uint64_t bits = ticket.load(std::memory_order_acquire);
    while (true) {
      Range range = Range::unpack(bits);
      if (range.generation != current || range.begin == range.end) return -1;
      const int64_t chunk = own ? range.begin++ : --range.end;
      if (ticket.compare_exchange_weak(bits, range.pack(), std::memory_order_acq_rel)) return chunk;
    }
  }

  void work(uint32_t current, int worker) {
    int64_t finished = 0;
    const int threads = static_cast<int>(tickets.size());
    for (int i = 0; i < threads; ++i) {
      const int from = worker + i < threads ? worker + i : worker + i - threads;
      int64_t chunk;
      while ((chunk = take(tickets[from].bits, current, i == 0)) >= 0) {
        const int64_t begin = chunk * chunk_size;
        run_chunk(begin, worker);
        ++finished;
      }
    }
    // Once for all chunks: the line moves between cores.
    if (finished > 0) done.fetch_add(finished, std::memory_order_release);
  }

  void run_chunk(int64_t begin, int worker) {
    try {
      (*body)(begin, std::min(begin + chunk_size, count), worker);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  }

  void run(int64_t n, int64_t size, FunctionRef<void(int64_t, int64_t, int)> loop) {
    const uint32_t current = generation.load(std::memory_order_relaxed) + 1;
    placement.follow_caller(helpers);
    const int64_t chunks = ceil_div(n, size), threads = static_cast<int64_t>(tickets.size());
    body = &loop;
    count = n;
    chunk_size = size;
    done.store(0, std::memory_order_relaxed);
    for (int64_t i = 0; i < threads; ++i)
      tickets[i].bits.store(Range{current, static_cast<uint16_t>(chunks * i / threads),
                                  static_cast<uint16_t>(chunks * (i + 1) / threads)}
                                .pack(),
                            std::memory_order_release);
    generation.store(current, std::memory_order_seq_cst);
    if (sleepers.load(std::memory_order_seq_cst) > 0) generation.notify_all();
    work(current, 0);
    wait_for_chunks(chunks);
    if (failed.exchange(false)) std::rethrow_exception(std::exchange(failure, nullptr));
  }

  void wait_for_chunks(int64_t chunks) {
    for (int spins = 0; done.load(std::memory_order_acquire) < chunks; ++spins) {
      if (spins < kSpins) {
        pause_briefly();
      } else {
        std::this_thread::yield();  // the helper that holds a chunk may need this very core
      }
    }
  }

  // The description lies beside the flag that helpers wait for, so that both arrive together.
  alignas(64) std::atomic<uint32_t> generation{0};
  const FunctionRef<void(int64_t, int64_t, int)>* body = nullptr;
  int64_t count = 0;
  int64_t chunk_size = 0;
  alignas(64) std::atomic<int> sleepers{0};
  std::atomic<bool> stop{false};
  std::atomic<int> started{0};
  std::atomic<bool> failed{false};
  std::exception_ptr failure;  ///< The first of a loop; comes out where its caller waits.
  alignas(64) std::atomic<int64_t> done{0};
  Placement placement;
  std::vector<Ticket> tickets;
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
  const int64_t wanted = std::min<int64_t>(threads() * kChunksPerThread, kMostWanted);
  // Rounded down: chunks of two of 18 tasks would leave one of two threads two more than the other.
  const int64_t size = std::max<int64_t>({grain, 1, count / wanted});
  if (threads() == 1 || size >= count) return body(0, count, 0);
  state_->run(count, even_size(count, size, grain, threads()), body);
}

}  // namespace tenon::cpu
