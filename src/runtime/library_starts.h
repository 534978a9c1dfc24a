#pragma once

#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "kernels/backend.h"

namespace tenon {

/// Libraries that kernels come from, each of which gets ready on a thread of its own. One that
/// fails is told of by the first kernel that is made. Thread-safe.
class LibraryStarts {
 public:
  /// Starts the libraries of these tactics that were not started yet.
  void begin(const Backend& backend, const std::set<std::string>& tactics);
  /// Waits for all started libraries.
  void end();

 private:
  std::mutex mutex_;
  std::set<TacticOrigin> begun_;
  std::vector<std::jthread> threads_;  ///< Last: they end first.
};

}  // namespace tenon
