#pragma once

#include <map>
#include <string>

#include "select/pace_book.h"
#include "select/two_rates.h"

namespace tenon {

/// How long a build tries layers' rivals in their sequence. A rival costs its kernels, one for each
/// layer of its problem, the recording of all layers, and the replays; how many rivals problems
/// have, and how fast layers are, is known when kernels were chosen for them, and follows those
/// that were chosen until then.
class SequenceForecast {
 public:
  SequenceForecast();
  void recall(const PaceBook& book);
  void keep(PaceBook& book) const;

  /// A sequence with so many layers of each problem (by its key) will be tried.
  void begin(std::map<std::string, int> layers);
  /// A kernel was chosen for a problem: its seconds, and how many rivals it has.
  void chosen(const std::string& problem, double seconds, double rivals);
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
    double rivals = 0;
    bool is_tried = false;
  };
  struct Amounts {
    double recorded = 0, made = 0;  ///< Layers.
    double replays = 0;             ///< Seconds.
  };

  double usual_layer() const;
  double usual_rivals() const;
  double rivals_of(const Problem& problem) const;
  double sequence() const;
  Amounts amounts(double rivals, double layers) const;
  double seconds(const Amounts& amounts) const;
  void learn(double asked, int measured, double layers, double seconds);

  TwoRates rates_;  ///< Of recorded and of made layers.
  double layer_seconds_ = 0, chosen_layers_ = 0;
  double rivals_ = 0, chosen_ = 0;
  std::map<std::string, Problem> problems_;
  double count_ = 0;  ///< Of layers.
  bool has_begun_ = false;
  double asked_ = 0, measured_ = 0;  ///< Sequences: a cache knows the times of the others.
};

}  // namespace tenon
