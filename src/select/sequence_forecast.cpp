#include "select/sequence_forecast.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "select/effort.h"

namespace tenon {
namespace {

/// First guesses, in seconds: to record a layer, to make its kernel, and to run it.
constexpr double kRecordLayer = 1e-5, kMakeLayer = 1e-3, kRunLayer = 1e-5;
/// Rivals of a problem, before any is known.
constexpr double kUsualRivals = 2;
/// First guesses weigh as much as so many problems, layers and sequences.
constexpr double kPriorWeight = 1;
/// The weight of earlier builds, in problems and layers.
constexpr double kRecalledLayers = 16;

constexpr const char* kRates = "sequence: layers";
constexpr const char* kUsual = "sequence: problems";

}  // namespace

SequenceForecast::SequenceForecast() : rates_(kRecordLayer, kMakeLayer) {}

void SequenceForecast::recall(const PaceBook& book) {
  rates_.recall(book.find(kRates));
  const auto usual = book.find(kUsual);
  if (usual.size() != 4) return;
  const auto share = [](double count) { return count > 0 ? std::min(kRecalledLayers / count, 1.0) : 0; };
  layer_seconds_ = share(usual[1]) * usual[0];
  chosen_layers_ = share(usual[1]) * usual[1];
  rivals_ = share(usual[3]) * usual[2];
  chosen_ = share(usual[3]) * usual[3];
}

void SequenceForecast::keep(PaceBook& book) const {
  if (chosen_ == 0) return;
  book.set(kRates, rates_.learned());
  book.set(kUsual, {layer_seconds_, chosen_layers_, rivals_, chosen_});
}

void SequenceForecast::begin(std::map<std::string, int> layers) {
  problems_.clear();
  has_begun_ = false;
  asked_ = measured_ = count_ = 0;
  for (auto& [problem, count] : layers) {
    problems_[problem].layers = count;
    count_ += count;
  }
}

void SequenceForecast::chosen(const std::string& problem, double seconds, double rivals) {
  const auto found = problems_.find(problem);
  if (found == problems_.end()) return;
  found->second.seconds = seconds;
  found->second.rivals = rivals;
  layer_seconds_ += seconds * found->second.layers;
  chosen_layers_ += found->second.layers;
  rivals_ += rivals;
  ++chosen_;
}

void SequenceForecast::began(int measured, double seconds) {
  has_begun_ = true;
  learn(1, measured, count_, seconds);
}

void SequenceForecast::tried(const std::string& problem, int measured, double seconds) {
  const auto found = problems_.find(problem);
  if (found == problems_.end() || std::exchange(found->second.is_tried, true)) return;
  learn(rivals_of(found->second), measured, found->second.layers, seconds);
}

void SequenceForecast::ended() {
  problems_.clear();
}

void SequenceForecast::learn(double asked, int measured, double layers, double seconds) {
  asked_ += asked;
  measured_ += measured;
  if (measured == 0) return;
  const Amounts amounts = this->amounts(measured, layers);
  rates_.add(amounts.recorded, amounts.made, std::max(seconds - amounts.replays, 0.0));
}

double SequenceForecast::usual_layer() const {
  return (layer_seconds_ + kPriorWeight * kRunLayer) / (chosen_layers_ + kPriorWeight);
}

double SequenceForecast::usual_rivals() const {
  return (rivals_ + kPriorWeight * kUsualRivals) / (chosen_ + kPriorWeight);
}

double SequenceForecast::rivals_of(const Problem& problem) const {
  return problem.seconds >= 0 ? problem.rivals : usual_rivals();
}

double SequenceForecast::sequence() const {
  double seconds = 0;
  for (const auto& [key, problem] : problems_)
    seconds += problem.layers * (problem.seconds >= 0 ? problem.seconds : usual_layer());
  return seconds;
}

SequenceForecast::Amounts SequenceForecast::amounts(double rivals, double layers) const {
  return {rivals * count_, rivals * layers,
          rivals * (effort::kSequenceReplays + effort::kWarmReplays) * sequence()};
}

double SequenceForecast::seconds(const Amounts& amounts) const {
  return rates_.seconds(amounts.recorded, amounts.made) + amounts.replays;
}

/// Layers that take too small a part of all are not tried.
double SequenceForecast::left() const {
  if (problems_.empty()) return 0;
  double left = has_begun_ ? 0 : seconds(amounts(1, count_));
  const double least = effort::kLeastPart * sequence();
  for (const auto& [key, problem] : problems_) {
    const bool is_small = problem.seconds >= 0 && problem.layers * problem.seconds < least;
    if (!problem.is_tried && !is_small)
      left += seconds(amounts(rivals_of(problem), problem.layers));
  }
  return left * (measured_ + kPriorWeight) / (asked_ + kPriorWeight);
}

}  // namespace tenon
