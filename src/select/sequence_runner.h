#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/backend.h"
#include "select/measure.h"
#include "select/value_memory.h"

namespace tenon {

/// A network's layers, in the order in which they will run, and the problem of each.
struct Layers {
  const ConcreteGraph& graph;
  std::vector<Node*> nodes;
  std::vector<Problem> problems;
};

/// The layers one after the other with the tactics that they have for now, timed as the one
/// captured graph that they will be: on each other's results, with each other's operands in the
/// caches, and starting early where they can. For devices with streams.
class SequenceRunner {
 public:
  /// Refers to its arguments, which must outlive it.
  SequenceRunner(const Backend& backend, Measurer& measurer, const Layers& layers)
      : backend_(backend), measurer_(measurer), layers_(layers), parts_(layers.nodes.size()) {}

  /// Gives layers of one problem their tactic. Where that fails they keep their earlier one.
  Status assign(std::span<const size_t> layers, const std::string& tactic);
  /// Makes kernels that layers of one problem are about to get, several at a time;
  /// failures will fail again.
  void prepare(std::span<const size_t> layers, std::span<const std::string> tactics);
  /// The same for first layers of several problems and their tactics.
  void prepare(std::span<const std::pair<size_t, std::string>> first_layers);
  /// Milliseconds of the whole sequence, once each layer has its tactic.
  Result<SequenceTime> time();

 private:
  struct Part {
    std::string tactic;
    bool waits = false;  ///< For the launch ahead, by itself.
    bool lets_next_start = false;
    std::shared_ptr<Kernel> kernel;  ///< Null until link().
    std::vector<void*> inputs, outputs;
  };
  /// The layer, its tactic, and whether the kernel lets the next launch start early.
  using Key = std::tuple<size_t, std::string, bool>;
  struct Kept {
    std::shared_ptr<Kernel> kernel;
    int last_use = 0;
  };

  Status reserve();
  Result<std::shared_ptr<Kernel>> make(size_t layer, const std::string& tactic, bool lets) const;
  /// Makes the missing ones, several at a time.
  Status make_missing(std::span<const Key> keys);
  Result<void*> address(const Value* value) const;
  Status set(size_t layer, bool lets);
  /// Each kernel lets the next one start early if and only if that one waits by itself.
  Status link();
  void forget_unused();
  Status grow_workspace();
  /// How the linked kernels go through memory.
  std::vector<Walk> walks() const;
  Status run(std::span<const Walk> walks) const;

  const Backend& backend_;
  Measurer& measurer_;
  const Layers& layers_;
  std::vector<Part> parts_;
  std::map<Key, Kept> kernels_;
  int uses_ = 0;
  std::optional<double> about_;  ///< Milliseconds of the sequence that was timed last.
  std::optional<ValueMemory> memory_;
  DeviceBuffer workspace_;
  size_t workspace_bytes_ = 0;
};

}  // namespace tenon
