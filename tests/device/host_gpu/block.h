#pragma once

#include <sys/mman.h>
#include <ucontext.h>

#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

/// A kernel's blocks on the host, one after the other. The threads of a block are fibers, which
/// take turns where they wait for each other. For one source: all of it is the module's own.

struct uint3 {
  unsigned x, y, z;
};
static uint3 threadIdx, blockIdx, blockDim, gridDim;

namespace host {

/// As tests/device/fake_driver/fake_driver.cpp has it.
struct Grid {
  unsigned grid[3], block[3], shared;
};

/// Threads that wait for each other.
struct Meeting {
  int came = 0;
  long round = 0;
  void end() { came = 0, ++round; }
};

/// Lanes of a warp that wait for each other.
struct WarpMeeting {
  int warp;
  unsigned mask;
  Meeting meeting;
};

struct Fiber {
  ucontext_t context;
  uint3 index;
  bool done;
};

/// Words of a thread for the others of its warp.
struct Slot {
  unsigned words[8];
};

constexpr int kWarp = 32, kMostThreads = 1024;
constexpr size_t kStack = size_t{256} << 10, kShared = size_t{256} << 10;
/// Turns of threads that wait while none comes: they wait for ever.
constexpr int kMostTurns = 1 << 20;

static ucontext_t outside;
static Fiber fibers[kMostThreads];
static size_t threads, current, alive;
static Meeting of_block;
static WarpMeeting of_warps[kMostThreads];  ///< Those that came first are first.
static size_t warp_meetings;
static unsigned alive_of_warp[kMostThreads / kWarp];
static Slot slots[kMostThreads];
static void** parameters;
static void (*body)();
static const char* failure;
static int turns;
alignas(1024) static unsigned char shared_memory[kShared];

/// Ends the launch.
inline void fail(const char* what) {
  failure = what;
  swapcontext(&fibers[current].context, &outside);
}

inline size_t next_alive() {
  size_t next = current;
  do next = (next + 1) % threads;
  while (fibers[next].done);
  return next;
}

[[gnu::noinline]] inline void yield() {
  const size_t own = current;
  if (++turns > kMostTurns) fail("threads that wait without an end");
  current = next_alive();
  threadIdx = fibers[current].index;
  if (current != own) swapcontext(&fibers[own].context, &fibers[current].context);
}

inline void meet(Meeting& meeting, int count) {
  const long round = meeting.round;
  if (++meeting.came >= count) {
    turns = 0;
    return meeting.end();
  }
  while (meeting.round == round) yield();
}

inline int place() {
  return static_cast<int>(threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z));
}
inline int lane() {
  return place() % kWarp;
}
inline int warp() {
  return place() / kWarp;
}

inline int alive_of(int warp, unsigned mask) {
  return __builtin_popcount(mask & alive_of_warp[warp]);
}
inline void meet_warp(unsigned mask) {
  const int own = warp();
  size_t i = 0;
  while (i < warp_meetings && (of_warps[i].warp != own || of_warps[i].mask != mask)) ++i;
  if (i == kMostThreads) return fail("many groups of lanes");
  if (i == warp_meetings) of_warps[warp_meetings++] = {own, mask, {}};
  meet(of_warps[i].meeting, alive_of(own, mask));
}

/// use(slots of the warp) when all lanes of the mask have given their words.
template <class Use> void exchange(const unsigned* words, int count, unsigned mask, Use use) {
  Slot* const of_warp = slots + warp() * kWarp;
  std::memcpy(of_warp[lane()].words, words, static_cast<size_t>(count) * sizeof(unsigned));
  meet_warp(mask);
  use(of_warp);
  meet_warp(mask);
}

/// A thread's end; others wait for it no longer.
inline void leave() {
  const int warp = host::warp();
  fibers[current].done = true;
  --alive;
  alive_of_warp[warp] &= ~(1U << lane());
  if (of_block.came > 0 && of_block.came >= static_cast<int>(alive)) of_block.end();
  for (size_t i = 0; i < warp_meetings; ++i)
    if (auto& [of, mask, meeting] = of_warps[i];
        of == warp && meeting.came > 0 && meeting.came >= alive_of(warp, mask))
      meeting.end();
  if (alive == 0) setcontext(&outside);
  current = next_alive();
  threadIdx = fibers[current].index;
  setcontext(&fibers[current].context);
}

inline void run_thread() {
  body();
  leave();
}

/// Shared memory is full of NaN at first.
inline void run_block(size_t shared, char* stacks) {
  std::memset(shared_memory, 0xff, shared);
  std::memset(alive_of_warp, 0, sizeof alive_of_warp);
  of_block = {}, warp_meetings = 0, current = 0, turns = 0, alive = threads;
  for (size_t i = 0; i < threads; ++i) {
    Fiber& fiber = fibers[i];
    const auto n = static_cast<unsigned>(i);
    fiber.index = {n % blockDim.x, n / blockDim.x % blockDim.y, n / blockDim.x / blockDim.y};
    fiber.done = false;
    alive_of_warp[i / kWarp] |= 1U << i % kWarp;
    getcontext(&fiber.context);
    fiber.context.uc_stack.ss_sp = stacks + i * kStack;
    fiber.context.uc_stack.ss_size = kStack;
    fiber.context.uc_link = nullptr;
    makecontext(&fiber.context, run_thread, 0);
  }
  threadIdx = fibers[0].index;
  swapcontext(&outside, &fibers[0].context);
}

template <class... Arguments> struct Call {
  static inline void (*kernel)(Arguments...);
  template <size_t... I> static void with(std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_cv_t<std::remove_reference_t<Arguments>>*>(parameters[I])...);
  }
  static void run() { with(std::index_sequence_for<Arguments...>()); }
};

/// Null, or the reason why it was not run to its end.
template <class... Arguments>
const char* launch(const Grid& grid, void** given, void (*kernel)(Arguments...)) {
  static char* const stacks =
      static_cast<char*>(mmap(nullptr, kStack * kMostThreads, PROT_READ | PROT_WRITE,
                              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
  Call<Arguments...>::kernel = kernel;
  body = Call<Arguments...>::run;
  parameters = given, failure = nullptr;
  gridDim = {grid.grid[0], grid.grid[1], grid.grid[2]};
  blockDim = {grid.block[0], grid.block[1], grid.block[2]};
  if (grid.shared > kShared) return "too much shared memory";
  threads = size_t{blockDim.x} * blockDim.y * blockDim.z;
  for (blockIdx.z = 0; blockIdx.z < gridDim.z; ++blockIdx.z)
    for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
      for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x) {
        run_block(grid.shared, stacks);
        if (failure != nullptr) return failure;
      }
  return nullptr;
}

}  // namespace host
