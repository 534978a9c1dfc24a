#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/backend.h"
#include "select/measure.h"

namespace tenon {

/// A network's layers one after the other with the tactics that they have for now, timed as the one
/// captured graph that they will be: with each other's operands in the caches, and starting early
/// where they can. For devices with streams.
class Rehearsal {
 public:
  /// Refers to its arguments, which must outlive it.
  Rehearsal(const Backend& backend, Measurer& measurer, std::span<const Problem> problems)
      : backend_(backend), measurer_(measurer), problems_(problems), parts_(problems.size()) {}

  /// Gives layers of one problem their tactic. Where that fails they keep what they had.
  Status cast(std::span<const size_t> layers, const std::string& tactic);
  /// Milliseconds of the whole sequence, once each layer has its tactic.
  Result<double> time();

 private:
  struct Part {
    std::string tactic;
    size_t first = 0;    ///< Of the layers of this problem.
    bool waits = false;  ///< For the launch ahead, by itself.
    bool lets_next_start = false;
    std::shared_ptr<Kernel> kernel;  ///< Null until link().
    Measurer::Launch launch;
  };
  /// The layer whose constants the kernel has, or the first of its problem where it has none; the
  /// tactic; whether it lets the next launch start early.
  using Key = std::tuple<size_t, std::string, bool>;
  struct Kept {
    std::shared_ptr<Kernel> kernel;
    int last_use = 0;
  };

  Status reserve();
  Result<std::shared_ptr<Kernel>> make(size_t layer, const std::string& tactic, bool lets) const;
  /// Kernels of some layers, all with the same tactic; those not there yet are made in parallel.
  Result<std::vector<std::shared_ptr<Kernel>>> find(std::span<const size_t> layers, size_t first,
                                                    const std::string& tactic, bool lets);
  std::shared_ptr<Kernel>* known(size_t layer, size_t first, const std::string& tactic, bool lets);
  Status set(size_t layer, std::shared_ptr<Kernel> kernel, bool lets);
  /// Each kernel lets the next one start early if and only if that one waits by itself.
  Status link();
  void forget_unused();

  const Backend& backend_;
  Measurer& measurer_;
  std::span<const Problem> problems_;
  std::vector<Part> parts_;
  std::map<Key, Kept> kernels_;
  int uses_ = 0;
  bool reserved_ = false;
};

}  // namespace tenon
