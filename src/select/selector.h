#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "device/described_device.h"
#include "select/judge.h"
#include "select/schedule.h"
#include "select/sequence_tuning.h"
#include "select/shortlist.h"
#include "select/steps.h"
#include "select/trials.h"
#include "select/trials_ahead.h"

namespace tenon {

/// Chooses kernels: lists candidates (Shortlister), orders their trials (Schedule), makes and times
/// them (Trials), leaves out wrong ones (leave_out_wrong), and puts the best first. Problems that
/// are equal are decided once.
class Selector {
 public:
  /// `steps` is told of each problem that is decided; may be null. So may `measurer`, whose memory
  /// serves others as well.
  Selector(const Backend& backend, const SelectOptions& options, TimingCache& cache, Steps* steps,
           Measurer* measurer = nullptr)
      : scope_{backend, options, cache, is_described(*backend.device)},
        steps_(steps),
        shortlister_(scope_),
        schedule_(scope_),
        trials_(scope_, schedule_, measurer) {}
  Selector(const Selector&) = delete;

  /// All tactics; those that fit come first, the best of them at the front.
  Result<std::vector<Candidate>> list(const Problem& problem);
  /// Of a problem that is decided.
  const Rivals& rivals(const Problem& problem) const;
  /// The tactics of layers, tried in sequence where that is wanted. Candidates under other shapes
  /// are tried `beside` those of the layers, whose times the cache keeps; null: none.
  Result<std::vector<std::string>> choose(const Layers& layers, bool in_sequence,
                                          TrialsAhead* beside = nullptr);
  /// Tries the candidates of problems, whose times the cache keeps.
  Status try_candidates(std::span<const Problem> problems);
  /// Of the layers that were tried so last, with the tactics that they got; nothing: none were.
  std::optional<double> sequence_milliseconds() const { return sequence_; }

 private:
  using Open = std::vector<std::pair<const Problem*, Shortlist*>>;

  Result<std::string> best(const Problem& problem);
  std::vector<size_t> prepare(std::span<const Problem> problems, TrialsAhead* beside);
  Status tune(const Layers& layers, std::vector<std::string>& tactics);
  void report_times();
  Shortlist& shortlist_of(const Problem& problem);
  class Round;
  const Tactic* row_of_best(const Shortlist& list) const;
  void finish(const Problem& problem, Shortlist& list);
  std::vector<Candidate> measure(const Problem& problem, Shortlist& list);
  Status measure(const Problem& problem, Shortlist& list, size_t index, Measured& measured);
  void measure_again(const Problem& problem, Shortlist& list, std::span<Measured> measured,
                     std::span<const size_t> numbers);
  void take_spare(const Problem& problem, Shortlist& list, std::vector<Candidate>& measured);

  /// Seconds of a selection by activity, where kernels are made several at a time.
  struct Times {
    double list = 0, make = 0, tune = 0;
  };

  const SelectScope scope_;
  Steps* steps_;
  Shortlister shortlister_;
  Schedule schedule_;
  Trials trials_;
  std::map<std::string, Shortlist> shortlists_;  ///< By problem key.
  std::map<std::string, Rivals> rivals_;         ///< Likewise.
  Times times_;
  std::optional<double> sequence_;
};

}  // namespace tenon
