#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/background.h"
#include "kernels/backend.h"

namespace tenon {

/// Libraries that kernels come from, each of which gets ready on a thread of its own. One that
/// fails is told of by the first kernel that is made. Thread-safe.
class LibraryStarts {
 public:
  /// Starts the libraries of these tactics that were not started yet.
  void begin(const Backend& backend, const std::set<std::string>& tactics);
  /// The same for a build, which may try all tactics, and compiles.
  void begin_all(const Backend& backend);
  /// Waits for all started libraries.
  void end();
  /// Whether none is started that is not ready.
  bool are_over() const { return running_ == 0; }

 private:
  void begin(const Backend& backend, const LibraryStart& library);

  std::mutex mutex_;
  std::set<TacticOrigin> begun_;
  std::atomic<int> running_ = 0;
  std::vector<std::unique_ptr<Background>> threads_;  ///< Last: they end first.
};

}  // namespace tenon
