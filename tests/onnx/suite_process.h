#pragma once

#include <sys/types.h>

#include <span>
#include <string>

#include "suite_case.h"

namespace tenon::onnx_suite {

/// Runs cases one after the other in a process beside this one, which a crash or a hang of a case
/// cannot end. One process runs case after case, so that one-time work of a process (opening a GPU,
/// loading libraries) does not count for each of them; a case that fails there runs again in a
/// process of its own, since one before it may be to blame, and that outcome counts.
class CaseProcess {
 public:
  /// `cases` are readable ones in the folder `root`.
  CaseProcess(std::string root, std::span<const Case* const> cases, Way way);
  ~CaseProcess();

  /// Of one of the cases; they are asked for in ascending order. Nothing when this process is told
  /// to end (SIGTERM).
  std::optional<Outcome> outcome_of(size_t index);

 private:
  bool start(size_t index);
  void serve(size_t index, int out) const;
  std::optional<std::string> read_line();
  int end();

  std::string root_;
  std::span<const Case* const> cases_;
  Way way_;
  int told_ = -1;       ///< Where SIGTERM arrives.
  pid_t child_ = 0;     ///< 0: none.
  size_t first_ = 0;    ///< Case that the child began with.
  int in_ = -1;         ///< Its lines.
  std::string buffer_;  ///< Their output that was not used yet.
  bool stopped_ = false;
};

}  // namespace tenon::onnx_suite
