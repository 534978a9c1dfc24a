#include "check/rounding_ahead.h"

#include <system_error>
#include <utility>

#include "base/call_number.h"
#include "base/stop.h"

namespace tenon {

void RoundingAhead::begin(std::function<Outputs(const Graph&)> evaluate) {
  if (outputs_.valid() || is_dropped_ || graph_ == nullptr) return;
  const auto work = [this, graph = graph_, evaluate = std::move(evaluate)] {
    const StopScope stops([this] { return is_dropped_.load(); });
    return evaluate(*graph);
  };
  try {
    outputs_ = std::async(std::launch::async, with_call_number(work));
  } catch (const std::system_error&) {  // No thread is left: who asks evaluates it.
  }
}

std::optional<RoundingAhead::Outputs> RoundingAhead::take() {
  if (!outputs_.valid()) return std::nullopt;
  return outputs_.get();
}

void RoundingAhead::drop() {
  is_dropped_ = true;
  if (outputs_.valid()) outputs_.wait();
  outputs_ = {};
}

}  // namespace tenon
