#pragma once

#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"
#include "ir/tensor.h"

namespace tenon {

/// What rounding does to a network's outputs, evaluated while the build is still at something that
/// leaves the processor idle.
class RoundingAhead {
 public:
  using Outputs = Result<std::vector<Tensor>>;

  RoundingAhead() = default;
  RoundingAhead(const RoundingAhead&) = delete;
  ~RoundingAhead() { drop(); }

  /// Is shown the graph behind the passes, whose types say what is rounded.
  void see(const Graph& graph) { graph_ = graph.clone(); }
  /// Begins to evaluate that graph, once, on a thread of its own, if there is one.
  void begin(std::function<Outputs(const Graph&)> evaluate);
  /// The outputs, once; nothing where none are on their way.
  std::optional<Outputs> take();
  /// The outputs are not asked for: their evaluation ends early.
  void drop();

 private:
  std::shared_ptr<const Graph> graph_;
  std::atomic<bool> is_dropped_ = false;
  std::future<Outputs> outputs_;
};

}  // namespace tenon
