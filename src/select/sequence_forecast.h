#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "select/pace_book.h"
#include "select/two_rates.h"

namespace tenon {

/// How long a build tries layers' rivals in their sequence. The first sequence costs kernels that
/// had nothing to be tried against, and the weights. A rival costs its kernels, one for each layer
/// of its problem, and a sequence that is put together and replayed, as both took so far. Which
/// rivals problems have, and how fast layers are, is known when kernels were chosen for them, and
/// follows the choices until then.
class SequenceForecast {
 public:
  SequenceForecast();
  void recall(const PaceBook& book);
  void keep(PaceBook& book) const;

  /// Layers of one problem, and the seconds of one as they are expected.
  struct Layers {
    int count = 0;
    double expected = 0;
  };
  /// A sequence with these of each problem (by its key) will be tried; so many bytes of constants
  /// belong to them.
  void begin(const std::map<std::string, Layers>& layers, double weights);
  /// A kernel was chosen for a problem: its seconds, 0 where they were not measured.
  void chosen(const std::string& problem, double seconds, size_t rivals);
  /// Sequences that were tried.
  struct Tried {
    int measured = 0;     ///< Those whose times were in no cache.
    double seconds = 0;   ///< All that it took.
    double sequence = 0;  ///< Seconds of the best so far.
  };
  /// The first choice was tried, or a problem's rivals were.
  void began(const Tried& tried);
  void tried(const std::string& problem, const Tried& tried);
  void ended();

  /// So many seconds after it was last told of sequences.
  double left(double ago) const;

 private:
  struct Problem {
    int layers = 0;
    double expected = 0, seconds = 0;  ///< Of one layer; timed, or 0.
    double rivals = 0;
    bool is_chosen = false, is_tried = false;
  };

  double usual_rivals() const;
  double seconds_of_layer(const Problem& problem) const;
  double sequence() const;
  double first() const;
  double kernels_of(const Problem& problem, double rivals) const;
  double seconds_of(const Problem& problem) const;

  TwoRates first_;   ///< Of a sequence of first choices, and of a byte of its constants.
  TwoRates rivals_;  ///< Of a kernel, and of a layer of a sequence that is put together.
  double rival_count_ = 0, chosen_ = 0;
  double timed_ = 0, expected_ = 0;  ///< Seconds of layers with a time.
  std::map<std::string, Problem> problems_;
  double count_ = 0;     ///< Of layers.
  double weights_ = 0;   ///< Bytes.
  double measured_ = 0;  ///< Seconds of the sequence; 0: not known yet.
  bool has_begun_ = false;
  double asked_ = 0, known_ = 0;  ///< Sequences; those of them whose times a cache did not know.
};

}  // namespace tenon
