#pragma once

#include <atomic>
#include <functional>
#include <string_view>

#include "base/status.h"

namespace tenon {

/// While it lives, work on its thread that may go on for ever asks `asked` whether it is to end.
/// Scopes nest: any of them ends the work inside. Once the answer was yes it stays so.
class StopScope {
 public:
  /// Where `asked` is empty nothing changes.
  explicit StopScope(std::function<bool()> asked);
  ~StopScope();
  StopScope(const StopScope&) = delete;

 private:
  friend bool stop_requested();
  friend std::function<bool()> stop_question();
  bool requested();

  std::function<bool()> asked_;
  std::atomic<bool> answer_ = false;  // Threads that were handed the question ask as well.
  StopScope* outer_ = nullptr;
};

/// Whether work on this thread is to end.
bool stop_requested();
/// The same as a question for a scope on another thread, which must end before this one's scopes.
std::function<bool()> stop_question();
/// Ok, or the error of work that is to end: "loop 'l' was stopped".
Status go_on(std::string_view work);

}  // namespace tenon
