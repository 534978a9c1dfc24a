#include "select/sequence_forecast.h"

#include <algorithm>
#include <utility>

#include "select/effort.h"
#include "select/time_left.h"

namespace tenon {
namespace {

/// First guesses, in seconds: of first choices' sequence and of a byte of constants; of a rival's
/// kernel and of a layer of a sequence.
constexpr double kFirst = 0.1, kFirstByte = 3e-10, kKernel = 5e-4, kLayer = 2e-5;
/// Rivals of a problem, before any is known.
constexpr double kUsualRivals = 2;
/// First guesses weigh as much as so many problems, layers and sequences.
constexpr double kPriorWeight = 1;
/// The weight of earlier builds, in problems.
constexpr double kRecalledProblems = 2;

constexpr const char* kFirstRates = "sequence: first, by bytes";
constexpr const char* kRivalRates = "sequence: rivals and kernels";
constexpr const char* kUsual = "sequence: problems";

double replays_of(double sequences, double seconds) {
  return sequences * (effort::sequence_replays(1e3 * seconds) + effort::kFirstReplays) * seconds;
}

}  // namespace

SequenceForecast::SequenceForecast() : first_(kFirst, kFirstByte), rivals_(kKernel, kLayer) {}

void SequenceForecast::recall(const PaceBook& book) {
  first_.recall(book.find(kFirstRates));
  rivals_.recall(book.find(kRivalRates));
  const auto usual = book.find(kUsual);
  if (usual.size() != 2 || usual[1] <= 0) return;
  const double share = std::min(kRecalledProblems / usual[1], 1.0);
  rival_count_ = share * usual[0];
  chosen_ = share * usual[1];
}

void SequenceForecast::keep(PaceBook& book) const {
  if (chosen_ == 0) return;
  book.set(kFirstRates, first_.learned());
  book.set(kRivalRates, rivals_.learned());
  book.set(kUsual, {rival_count_, chosen_});
}

void SequenceForecast::begin(const std::map<std::string, Layers>& layers, double weights) {
  problems_.clear();
  has_begun_ = false;
  asked_ = known_ = count_ = measured_ = timed_ = expected_ = 0;
  weights_ = weights;
  for (const auto& [problem, one] : layers) {
    problems_[problem] = {.layers = one.count, .expected = one.expected};
    count_ += one.count;
  }
}

void SequenceForecast::chosen(const std::string& problem, double seconds, size_t rivals) {
  const auto found = problems_.find(problem);
  if (found == problems_.end()) return;
  Problem& one = found->second;
  one.seconds = seconds;
  one.rivals = static_cast<double>(rivals);
  if (seconds > 0) {
    timed_ += seconds;
    expected_ += one.expected;
  }
  if (std::exchange(one.is_chosen, true)) return;
  rival_count_ += one.rivals;
  ++chosen_;
}

void SequenceForecast::began(const Tried& tried) {
  has_begun_ = true;
  measured_ = tried.sequence;
  ++asked_;
  known_ += tried.measured > 0 ? 1 : 0;
  if (tried.measured > 0)
    first_.add(1, weights_, std::max(tried.seconds - replays_of(tried.measured, sequence()), 0.0));
}

void SequenceForecast::tried(const std::string& problem, const Tried& tried) {
  const auto found = problems_.find(problem);
  if (found == problems_.end() || std::exchange(found->second.is_tried, true)) return;
  measured_ = tried.sequence;
  asked_ += found->second.rivals;
  known_ += tried.measured;
  if (tried.measured > 0)
    rivals_.add(kernels_of(found->second, tried.measured), tried.measured * count_,
                std::max(tried.seconds - replays_of(tried.measured, sequence()), 0.0));
}

void SequenceForecast::ended() {
  problems_.clear();
}

double SequenceForecast::usual_rivals() const {
  return (rival_count_ + kPriorWeight * kUsualRivals) / (chosen_ + kPriorWeight);
}

/// Timed layers tell how fast those are that will be. Those without a rival are never timed, and
/// may be slow.
double SequenceForecast::seconds_of_layer(const Problem& problem) const {
  if (problem.seconds > 0) return problem.seconds;
  const bool is_like_timed = !problem.is_chosen && timed_ > 0;
  return problem.expected * (is_like_timed ? timed_ / expected_ : 1);
}

/// Seconds of one.
double SequenceForecast::sequence() const {
  if (measured_ > 0) return measured_;
  double seconds = 0;
  for (const auto& [key, problem] : problems_)
    seconds += problem.layers * seconds_of_layer(problem);
  return seconds;
}

/// With the weights.
double SequenceForecast::first() const {
  return first_.seconds(1, weights_) + replays_of(1, sequence());
}

/// A rival needs one for each layer; that it is replaced takes about as long as another one.
double SequenceForecast::kernels_of(const Problem& problem, double rivals) const {
  return rivals * (problem.layers + 1);
}

/// Of its rivals.
double SequenceForecast::seconds_of(const Problem& problem) const {
  const double rivals = problem.is_chosen ? problem.rivals : usual_rivals();
  return rivals_.seconds(kernels_of(problem, rivals), rivals * count_) +
         replays_of(rivals, sequence());
}

/// Layers that take too small a part of all are not tried. The layer being tried may be overdue,
/// which tells nothing of the others.
double SequenceForecast::left(double ago) const {
  if (problems_.empty()) return 0;
  double left = 0, open = 0;
  const double least = effort::kLeastPart * sequence();
  for (const auto& [key, problem] : problems_) {
    const bool is_small = problem.is_chosen && problem.layers * seconds_of_layer(problem) < least;
    if (problem.is_tried || is_small) continue;
    left += seconds_of(problem);
    ++open;
  }
  const double known = (known_ + kPriorWeight) / (asked_ + kPriorWeight);
  const double now = has_begun_ ? left / std::max(open, 1.0) : first();
  const double behind = has_begun_ ? left - now : left;
  return known * (left_after(now, ago) + behind);
}

}  // namespace tenon
