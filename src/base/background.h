#pragma once

#include <functional>
#include <memory>
#include <stop_token>

namespace tenon {

/// Work on a thread of its own, which ends with its owner. Where the process ends first, the work
/// is asked to stop, and waited for, ahead of the objects that it may use.
class Background {
 public:
  using Work = std::function<void(std::stop_token)>;

  Background() = default;
  ~Background() { end(); }
  Background(const Background&) = delete;

  /// Ends the work before it. `work` looks now and then whether it shall stop. False where there is
  /// no thread for it, and nothing is done.
  bool start(Work work) noexcept;
  /// Asks it to stop, and waits until it has.
  void end() noexcept;
  /// Waits until it has ended by itself.
  void wait() noexcept;

 private:
  struct Thread;
  struct Threads;
  static Threads& threads();

  std::shared_ptr<Thread> thread_;
};

}  // namespace tenon
