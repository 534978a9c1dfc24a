#include "base/stop.h"

#include <utility>

namespace tenon {
namespace {

/// Kernels are handed operands and a queue, and no scope.
thread_local StopScope* innermost = nullptr;

}  // namespace

StopScope::StopScope(std::function<bool()> asked) : asked_(std::move(asked)), outer_(innermost) {
  innermost = this;
}

StopScope::~StopScope() {
  innermost = outer_;
}

bool StopScope::requested() {
  if (!answer_ && asked_) answer_ = asked_();
  return answer_ || (outer_ != nullptr && outer_->requested());
}

bool stop_requested() {
  return innermost != nullptr && innermost->requested();
}

std::function<bool()> stop_question() {
  if (innermost == nullptr) return {};
  return [scope = innermost] { return scope->requested(); };
}

Status go_on(std::string_view work) {
  if (!stop_requested()) return {};
  return user_error("{} was stopped", work);
}

}  // namespace tenon
