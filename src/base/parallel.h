#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <future>
#include <new>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/call_number.h"
#include "base/function_ref.h"

namespace tenon {

/// Adds threads that do `work` for the caller until there are `count` with its own, or the system
/// gives no more: fewer do the same work.
template <class Threads, class Work>
void start_threads(Threads& threads, size_t count, const Work& work) {
  try {
    while (threads.size() + 1 < count) threads.emplace_back(with_call_number(work));
  } catch (const std::system_error&) {
  } catch (const std::bad_alloc&) {
  }
}

/// Calls f(0) to f(count - 1) on up to `threads` threads, the caller's among them, in any order.
/// For long and few calls, such as compilations: threads are started for it. The first exception
/// comes out when all have ended.
inline void for_each_parallel(size_t count, size_t threads, FunctionRef<void(size_t)> f) {
  std::atomic<size_t> next = 0;
  std::atomic<bool> failed = false;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      for (size_t i; !failed && (i = next.fetch_add(1)) < count;) f(i);
    } catch (...) {
      if (!failed.exchange(true)) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> helpers;
    start_threads(helpers, std::min(threads, count), work);
    work();
  }
  if (failure != nullptr) std::rethrow_exception(failure);
}

/// Cores that the process may use, one or more: fewer than the machine has where it is confined to
/// some.
size_t usable_cores();

/// From now on the calling thread and its later children have a lower priority than other threads.
void give_way();

/// Work on a thread of its own, which gives way to others; an empty future where the system has no
/// thread left.
template <class Work> std::future<std::invoke_result_t<Work&>> begin_aside(Work work) {
  try {
    return std::async(std::launch::async, with_call_number([work = std::move(work)] {
                        give_way();
                        return work();
                      }));
  } catch (const std::system_error&) {
    return {};
  }
}

/// Threads for work that the processor does beside others'.
inline size_t helper_threads() {
  constexpr size_t kMost = 32;
  return std::min(usable_cores(), kMost);
}

}  // namespace tenon
