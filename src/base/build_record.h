#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/stopwatch.h"

namespace tenon {

/// What a build did, tried and found, for reports: filled by the stages where a caller asked for it
/// (SelectOptions::record). Written by one thread.
class BuildRecord {
 public:
  /// A stretch of the build, in seconds since it began.
  struct Span {
    std::string name, group;  ///< "fuse_epilogue" of "pass"; stages have the group "stage".
    double start = 0, seconds = 0;
    std::string detail;
  };
  /// One tactic with its configuration for one problem.
  struct Candidate {
    std::string tactic;
    double milliseconds = -1;  ///< -1: not timed.
    std::string reason;        ///< Why it was not taken, where it could not be.
  };
  /// Layers of equal problems share a list of candidates.
  struct Choice {
    std::string layer, tactic;
    size_t list = 0;
  };
  /// Two neighbours that do not share a kernel, and why.
  struct Apart {
    std::string producer, consumer, pass, reason;
  };
  /// A layer's results against the reference.
  struct Accuracy {
    std::string layer, value, tactic;
    std::string state;        ///< "right", "wrong", "not compared".
    double distance = -1;     ///< Of its results from the same operands; -1: not compared.
    double limit = -1;        ///< The largest allowed value of that.
    double accumulated = -1;  ///< Of its results from those of the network in fp32; -1: not known.
    std::string detail;
  };
  struct Output {
    std::string name;
    double distance = 0, limit = 0;
  };

  double now() { return seconds_ += watch_.lap(); }
  /// Ends now.
  void add_span(std::string_view group, std::string_view name, double seconds,
                std::string detail = {}) {
    spans.push_back(
        {std::string(name), std::string(group), now() - seconds, seconds, std::move(detail)});
  }
  /// Where a plan is made again, what the one before was made of is of no interest.
  void forget_choices() {
    choices.clear();
    lists.clear();
    list_of.clear();
    apart.clear();
  }

  std::vector<Span> spans;
  std::vector<Choice> choices;
  std::vector<std::vector<Candidate>> lists;
  std::map<std::string, size_t> list_of;  ///< By problem key.
  std::vector<Apart> apart;
  std::vector<Accuracy> accuracy;
  std::vector<Output> outputs;

 private:
  Stopwatch watch_;
  double seconds_ = 0;
};

}  // namespace tenon
