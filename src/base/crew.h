#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace tenon {

/// Threads that do numbered tasks, the oldest first, for one thread that adds them and takes what
/// is done.
class Crew {
 public:
  Crew(size_t threads, std::function<void(size_t task)> work) : work_(std::move(work)) {
    for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
  }
  /// Tasks that were not begun are dropped.
  ~Crew() {
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
    }
    changed_.notify_all();
  }
  Crew(const Crew&) = delete;

  void add(size_t task) {
    {
      const std::lock_guard lock(mutex_);
      open_.push_back(task);
      ++unclaimed_;
    }
    changed_.notify_one();
  }

  /// Waits for a task to be done; nothing where all that were added have been taken.
  std::optional<size_t> take_done() {
    std::unique_lock lock(mutex_);
    if (unclaimed_ == 0) return std::nullopt;
    --unclaimed_;
    finished_.wait(lock, [this] { return !done_.empty(); });
    const size_t task = done_.front();
    done_.pop_front();
    return task;
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return closed_ || !open_.empty(); });
      if (closed_) return;
      const size_t task = open_.front();
      open_.pop_front();
      lock.unlock();
      work_(task);
      lock.lock();
      done_.push_back(task);
      finished_.notify_one();
    }
  }

  std::function<void(size_t)> work_;
  std::mutex mutex_;
  std::condition_variable changed_, finished_;
  std::deque<size_t> open_, done_;
  size_t unclaimed_ = 0;
  bool closed_ = false;
  std::vector<std::jthread> threads_;  ///< Last: they end first.
};

}  // namespace tenon
