#pragma once

#include <atomic>
#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "device/cuda/module.h"

namespace tenon::cuda {

/// The loaded modules of a device, once for equal code. Those that kernels use stay; of the others
/// the most recently used ones do, for shapes that come back. Thread-safe; several threads may load
/// at the same time, and a thread that asks for a module in loading waits for it.
class ModuleCache {
 public:
  using Loaded = Result<std::shared_ptr<const Module>>;

  /// About as many as the programs of four earlier shapes of a large model have: they are a few
  /// tens of kilobytes each, on the device and in the driver.
  static constexpr size_t kMostUnused = 512;

  explicit ModuleCache(size_t most_unused = kMostUnused) : most_unused_(most_unused) {}

  /// The module that a kernel keeps for as long as its launches may run. The device must be
  /// current: unused modules are unloaded here.
  Loaded find(const std::string& key, FunctionRef<Loaded()> load);
  size_t size() const;
  void clear();

 private:
  struct Entry {
    std::shared_future<Loaded> module;
    std::atomic<uint64_t> last_use = 0;
    bool ready = false;  ///< The future does not wait.
  };
  using Entries = std::unordered_map<std::string, Entry>;
  std::optional<Loaded> find_ready(const std::string& key) const;
  /// Takes out the least recently used of the unused modules, where these are too many.
  std::vector<Entries::node_type> take_superfluous();

  const size_t most_unused_;
  mutable std::shared_mutex mutex_;
  mutable std::atomic<uint64_t> uses_ = 0;
  mutable Entries entries_;  ///< By hash of the code.
};

}  // namespace tenon::cuda
