#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/parallel.h"

namespace tenon {

/// Threads that do tasks, those added ahead of others first and then the oldest, for one thread
/// that adds tasks and takes the results, some of them only where there are no others. They give
/// way to that one, by which all results have to pass. Up to so many are started, one with each
/// task. A task is a number or describes itself.
template <class Task = size_t> class WorkQueue {
 public:
  WorkQueue(size_t threads, std::type_identity_t<std::function<void(Task)>> work)
      : work_(std::move(work)), most_(threads) {}
  /// Tasks that were not begun are dropped.
  ~WorkQueue() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }
  WorkQueue(const WorkQueue&) = delete;

  /// `is_taken_last`: its result waits for those of other tasks that are done.
  void add(Task task, bool ahead = false, bool is_taken_last = false) {
    {
      const std::lock_guard lock(mutex_);
      (ahead ? urgent_ : open_).push_back({std::move(task), is_taken_last});
      ++unclaimed_;
    }
    changed_.notify_one();
    if (threads_.size() == most_) return;
    start_threads(threads_, threads_.size() + 2, [this] {
      give_way();
      run();
    });
  }

  /// Waits for a task to be done; nothing where all results have been taken. An exception of a task
  /// is thrown here. Where no thread could be started the task is done here.
  std::optional<Task> take_done() {
    std::unique_lock lock(mutex_);
    if (unclaimed_ == 0) return std::nullopt;
    --unclaimed_;
    if (threads_.empty()) do_next(lock);
    finished_.wait(lock, [this] { return !done_.empty() || !last_.empty(); });
    if (failure_ != nullptr) std::rethrow_exception(std::exchange(failure_, nullptr));
    std::deque<Task>& results = done_.empty() ? last_ : done_;
    Task task = std::move(results.front());
    results.pop_front();
    return task;
  }

 private:
  struct Added {
    Task task;
    bool is_taken_last;
  };

  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closed_ || !urgent_.empty() || !open_.empty(); });
      if (closed_) return;
      do_next(lock);
      finished_.notify_one();
    }
  }
  /// Under the lock, but for the work itself.
  void do_next(std::unique_lock<std::mutex>& lock) {
    std::deque<Added>& tasks = urgent_.empty() ? open_ : urgent_;
    Added added = std::move(tasks.front());
    tasks.pop_front();
    lock.unlock();
    std::exception_ptr failure;
    try {
      work_(added.task);
    } catch (...) {
      failure = std::current_exception();
    }
    lock.lock();
    if (failure != nullptr) failure_ = failure;
    (added.is_taken_last ? last_ : done_).push_back(std::move(added.task));
  }

  std::function<void(Task)> work_;
  const size_t most_;
  std::mutex mutex_;
  std::condition_variable changed_, finished_;
  std::deque<Added> urgent_, open_;
  std::deque<Task> done_, last_;  ///< The latter are taken last.
  size_t unclaimed_ = 0;
  bool closed_ = false;
  std::exception_ptr failure_;
  std::vector<std::jthread> threads_;  ///< Last: they end first.
};

}  // namespace tenon
