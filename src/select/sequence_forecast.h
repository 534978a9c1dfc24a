#pragma once

#include <map>
#include <string>
#include <vector>

#include "select/local_rates.h"
#include "select/pace_book.h"

namespace tenon {

/// How long a build tries layers' rivals in their sequence. A rival costs its kernels, one for each
/// layer of its problem, as long as rivals of its tactic took so far, and the replays. Which rivals
/// problems have, and how fast layers are, is known when kernels were chosen for them, and follows
/// the choices until then.
class SequenceForecast {
 public:
  SequenceForecast();
  void recall(const PaceBook& book);
  void keep(PaceBook& book) const;

  /// A sequence with so many layers of each problem (by its key) will be tried.
  void begin(const std::map<std::string, int>& layers);
  /// A kernel was chosen for a problem: its seconds, and the tactics of its rivals.
  void chosen(const std::string& problem, double seconds, std::vector<std::string> rivals);
  /// The sequence was tried with the first choice, or with a problem's rivals, in so many seconds;
  /// times of `measured` sequences were in no cache.
  void began(int measured, double seconds);
  void tried(const std::string& problem, int measured, double seconds);
  void ended();

  double left() const;

 private:
  struct Problem {
    int layers = 0;
    double seconds = -1;  ///< Of one layer; -1: none is chosen yet.
    std::vector<std::string> rivals;
    bool is_tried = false;
  };

  double usual_layer() const;
  double usual_rivals() const;
  double replays() const;
  double making_of(const std::string& tactic, double layers) const;
  double seconds_of(const Problem& problem) const;

  std::map<std::string, LocalRates> rates_;  ///< By tactic: of a rival, and of each of its layers.
  LocalRates all_;
  double first_ = 0, firsts_ = 0;  ///< Seconds of first choices' sequences, and their layers.
  double layer_seconds_ = 0, chosen_layers_ = 0;
  double rivals_ = 0, chosen_ = 0;
  std::map<std::string, Problem> problems_;
  double count_ = 0;  ///< Of layers.
  bool has_begun_ = false;
  double asked_ = 0, measured_ = 0;  ///< Sequences: a cache knows the times of the others.
};

}  // namespace tenon
