#include "select/sequence_forecast.h"

#include <algorithm>
#include <utility>

#include "select/effort.h"

namespace tenon {
namespace {

/// First guesses, in seconds: of first choices' sequence and of each of its layers; of a rival's
/// kernel and of a layer of a sequence; to run a layer.
constexpr double kFirst = 0.05, kFirstLayer = 1e-3, kKernel = 1e-3, kLayer = 2e-5, kRunLayer = 1e-5;
/// Rivals of a problem, before any is known.
constexpr double kUsualRivals = 2;
/// First guesses weigh as much as so many problems, layers and sequences.
constexpr double kPriorWeight = 1;
/// The weight of earlier builds, in problems and layers.
constexpr double kRecalledLayers = 16;

constexpr const char* kFirstRates = "sequence: first";
constexpr const char* kRivalRates = "sequence: rivals";
constexpr const char* kUsual = "sequence: problems";

double replays_of(double sequences, double seconds) {
  return sequences * (effort::kSequenceReplays + effort::kWarmReplays) * seconds;
}

}  // namespace

SequenceForecast::SequenceForecast() : first_(kFirst, kFirstLayer), rivals_(kKernel, kLayer) {}

void SequenceForecast::recall(const PaceBook& book) {
  first_.recall(book.find(kFirstRates));
  rivals_.recall(book.find(kRivalRates));
  const auto usual = book.find(kUsual);
  if (usual.size() != 4) return;
  const auto share = [](double count) {
    return count > 0 ? std::min(kRecalledLayers / count, 1.0) : 0;
  };
  layer_seconds_ = share(usual[1]) * usual[0];
  timed_layers_ = share(usual[1]) * usual[1];
  rival_count_ = share(usual[3]) * usual[2];
  chosen_ = share(usual[3]) * usual[3];
}

void SequenceForecast::keep(PaceBook& book) const {
  if (chosen_ == 0) return;
  book.set(kFirstRates, first_.learned());
  book.set(kRivalRates, rivals_.learned());
  book.set(kUsual, {layer_seconds_, timed_layers_, rival_count_, chosen_});
}

void SequenceForecast::begin(const std::map<std::string, int>& layers) {
  problems_.clear();
  has_begun_ = false;
  asked_ = known_ = count_ = measured_ = 0;
  for (const auto& [problem, count] : layers) {
    problems_[problem].layers = count;
    count_ += count;
  }
}

void SequenceForecast::chosen(const std::string& problem, double seconds, size_t rivals) {
  const auto found = problems_.find(problem);
  if (found == problems_.end()) return;
  if (seconds > 0) {
    layer_seconds_ += seconds * found->second.layers;
    timed_layers_ += found->second.layers;
  }
  found->second.seconds = seconds;
  found->second.rivals = static_cast<double>(rivals);
  rival_count_ += found->second.rivals;
  ++chosen_;
}

void SequenceForecast::began(const Tried& tried) {
  has_begun_ = true;
  measured_ = tried.sequence;
  ++asked_;
  known_ += tried.measured > 0 ? 1 : 0;
  if (tried.measured > 0)
    first_.add(1, count_, std::max(tried.seconds - replays_of(tried.measured, sequence()), 0.0));
}

void SequenceForecast::tried(const std::string& problem, const Tried& tried) {
  const auto found = problems_.find(problem);
  if (found == problems_.end() || std::exchange(found->second.is_tried, true)) return;
  measured_ = tried.sequence;
  asked_ += found->second.rivals;
  known_ += tried.measured;
  if (tried.measured > 0)
    rivals_.add(tried.measured * found->second.layers, tried.measured * count_,
                std::max(tried.seconds - replays_of(tried.measured, sequence()), 0.0));
}

void SequenceForecast::ended() {
  problems_.clear();
}

double SequenceForecast::usual_layer() const {
  return (layer_seconds_ + kPriorWeight * kRunLayer) / (timed_layers_ + kPriorWeight);
}

double SequenceForecast::usual_rivals() const {
  return (rival_count_ + kPriorWeight * kUsualRivals) / (chosen_ + kPriorWeight);
}

/// Seconds of one.
double SequenceForecast::sequence() const {
  if (measured_ > 0) return measured_;
  double seconds = 0;
  for (const auto& [key, problem] : problems_)
    seconds += problem.layers * (problem.seconds > 0 ? problem.seconds : usual_layer());
  return seconds;
}

/// Of its rivals.
double SequenceForecast::seconds_of(const Problem& problem) const {
  const double rivals = problem.seconds < 0 ? usual_rivals() : problem.rivals;
  return rivals_.seconds(rivals * problem.layers, rivals * count_) + replays_of(rivals, sequence());
}

/// Layers that take too small a part of all are not tried.
double SequenceForecast::left() const {
  if (problems_.empty()) return 0;
  double left = has_begun_ ? 0 : first_.seconds(1, count_) + replays_of(1, sequence());
  const double least = effort::kLeastPart * sequence();
  for (const auto& [key, problem] : problems_) {
    const bool is_small = problem.seconds >= 0 && problem.layers * problem.seconds < least;
    if (!problem.is_tried && !is_small) left += seconds_of(problem);
  }
  return left * (known_ + kPriorWeight) / (asked_ + kPriorWeight);
}

}  // namespace tenon
