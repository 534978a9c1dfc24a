#include "base/background.h"

#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include "base/call_number.h"
#include "base/guard.h"

namespace tenon {

struct Background::Thread {
  std::mutex mutex;  ///< Of `thread`, which owner and the process's end wait for.
  std::jthread thread;

  void begin(Work work) {
    const std::lock_guard lock(mutex);
    thread = std::jthread([work = std::move(work), number = call_number()](std::stop_token stop) {
      set_call_number(number);
      static_cast<void>(guarded("work in the background", [&]() -> Status {
                          work(std::move(stop));
                          return {};
                        }).ok());
    });
  }
  void join(bool stops) {
    const std::lock_guard lock(mutex);
    if (!thread.joinable()) return;
    if (stops) thread.request_stop();
    // Who takes its messages may end the process or the owner.
    if (thread.get_id() == std::this_thread::get_id())
      thread.detach();
    else
      thread.join();
  }
};

struct Background::Threads {
  std::mutex mutex;
  std::vector<std::weak_ptr<Thread>> all;

  void add(const std::shared_ptr<Thread>& thread) {
    const std::lock_guard lock(mutex);
    std::erase_if(all, [](const auto& other) { return other.expired(); });
    all.push_back(thread);
  }
  void end_all() {
    const std::lock_guard lock(mutex);
    for (const auto& weak : all)
      if (const auto thread = weak.lock()) thread->join(true);
  }
};

/// Never destroyed, since owners may outlive other objects of the process. The first work to begin
/// comes behind the making of the objects that it uses, and ends ahead of them.
Background::Threads& Background::threads() {
  static Threads& all = *[] {
    std::atexit([] { threads().end_all(); });
    return new Threads;
  }();
  return all;
}

bool Background::start(Work work) noexcept {
  end();
  return guarded("a thread",
                 [&]() -> Status {
                   auto thread = std::make_shared<Thread>();
                   threads().add(thread);
                   thread->begin(std::move(work));
                   thread_ = std::move(thread);
                   return {};
                 })
      .ok();
}

void Background::end() noexcept {
  if (thread_ != nullptr) thread_->join(true);
  thread_.reset();
}

void Background::wait() noexcept {
  if (thread_ != nullptr) thread_->join(false);
  thread_.reset();
}

}  // namespace tenon
