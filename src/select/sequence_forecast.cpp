#include "select/sequence_forecast.h"

#include <algorithm>
#include <utility>

#include "select/effort.h"

namespace tenon {
namespace {

/// First guesses, in seconds: of a rival and of each of its layers, and to run a layer.
constexpr double kRivalMade = 5e-3, kRivalLayer = 3e-4, kRunLayer = 1e-5;
/// Rivals of a problem, before any is known.
constexpr double kUsualRivals = 2;
/// First guesses weigh as much as so many problems, layers and sequences.
constexpr double kPriorWeight = 1;
/// The weight of earlier builds, in problems and layers.
constexpr double kRecalledLayers = 16;

constexpr const char* kTactics = "sequence of ";
constexpr const char* kCommonRates = "sequence: all";
constexpr const char* kUsual = "sequence: problems";

double replays_of(double sequences, double seconds) {
  return sequences * (effort::kSequenceReplays + effort::kWarmReplays) * seconds;
}

}  // namespace

SequenceForecast::SequenceForecast() : all_(kRivalMade, kRivalLayer) {}

void SequenceForecast::recall(const PaceBook& book) {
  all_.recall(book.find(kCommonRates));
  for (const auto& [tactic, figures] : book.with_prefix(kTactics))
    rates_.try_emplace(tactic, kRivalMade, kRivalLayer).first->second.recall(figures);
  const auto usual = book.find(kUsual);
  if (usual.size() != 6) return;
  const auto share = [](double count) {
    return count > 0 ? std::min(kRecalledLayers / count, 1.0) : 0;
  };
  layer_seconds_ = share(usual[1]) * usual[0];
  chosen_layers_ = share(usual[1]) * usual[1];
  rivals_ = share(usual[3]) * usual[2];
  chosen_ = share(usual[3]) * usual[3];
  first_ = share(usual[5]) * usual[4];
  firsts_ = share(usual[5]) * usual[5];
}

void SequenceForecast::keep(PaceBook& book) const {
  if (chosen_ == 0) return;
  book.set(kCommonRates, all_.learned());
  for (const auto& [tactic, rates] : rates_) book.set(kTactics + tactic, rates.learned());
  book.set(kUsual, {layer_seconds_, chosen_layers_, rivals_, chosen_, first_, firsts_});
}

void SequenceForecast::begin(const std::map<std::string, int>& layers) {
  problems_.clear();
  has_begun_ = false;
  asked_ = measured_ = count_ = 0;
  for (const auto& [problem, count] : layers) {
    problems_[problem].layers = count;
    count_ += count;
  }
}

void SequenceForecast::chosen(const std::string& problem, double seconds,
                              std::vector<std::string> rivals) {
  const auto found = problems_.find(problem);
  if (found == problems_.end()) return;
  layer_seconds_ += seconds * found->second.layers;
  chosen_layers_ += found->second.layers;
  rivals_ += static_cast<double>(rivals.size());
  ++chosen_;
  found->second.seconds = seconds;
  found->second.rivals = std::move(rivals);
}

void SequenceForecast::began(int measured, double seconds) {
  has_begun_ = true;
  ++asked_;
  measured_ += measured > 0 ? 1 : 0;
  if (measured == 0) return;
  first_ += std::max(seconds - replays_of(measured, replays()), 0.0);
  firsts_ += count_;
}

void SequenceForecast::tried(const std::string& problem, int measured, double seconds) {
  const auto found = problems_.find(problem);
  if (found == problems_.end() || std::exchange(found->second.is_tried, true)) return;
  const auto& rivals = found->second.rivals;
  asked_ += static_cast<double>(rivals.size());
  measured_ += measured;
  if (measured == 0) return;
  const double each = std::max(seconds / measured - replays_of(1, replays()), 0.0);
  const double layers = found->second.layers;
  for (const std::string& tactic : rivals) {
    all_.add(1, layers, each);
    rates_.try_emplace(tactic, kRivalMade, kRivalLayer).first->second.add(1, layers, each);
  }
}

void SequenceForecast::ended() {
  problems_.clear();
}

double SequenceForecast::usual_layer() const {
  return (layer_seconds_ + kPriorWeight * kRunLayer) / (chosen_layers_ + kPriorWeight);
}

double SequenceForecast::usual_rivals() const {
  return (rivals_ + kPriorWeight * kUsualRivals) / (chosen_ + kPriorWeight);
}

/// Seconds of one.
double SequenceForecast::replays() const {
  double seconds = 0;
  for (const auto& [key, problem] : problems_)
    seconds += problem.layers * (problem.seconds >= 0 ? problem.seconds : usual_layer());
  return seconds;
}

double SequenceForecast::making_of(const std::string& tactic, double layers) const {
  const auto found = rates_.find(tactic);
  return (found != rates_.end() ? found->second : all_).seconds(1, layers);
}

/// Of its rivals.
double SequenceForecast::seconds_of(const Problem& problem) const {
  if (problem.seconds < 0)
    return usual_rivals() * (all_.seconds(1, problem.layers) + replays_of(1, replays()));
  double seconds = replays_of(static_cast<double>(problem.rivals.size()), replays());
  for (const std::string& tactic : problem.rivals) seconds += making_of(tactic, problem.layers);
  return seconds;
}

/// Layers that take too small a part of all are not tried.
double SequenceForecast::left() const {
  if (problems_.empty()) return 0;
  double left = 0;
  if (!has_begun_)
    left += (first_ + kPriorWeight * kRivalLayer) / (firsts_ + kPriorWeight) * count_ +
            replays_of(1, replays());
  const double least = effort::kLeastPart * replays();
  for (const auto& [key, problem] : problems_) {
    const bool is_small = problem.seconds >= 0 && problem.layers * problem.seconds < least;
    if (!problem.is_tried && !is_small) left += seconds_of(problem);
  }
  return left * (measured_ + kPriorWeight) / (asked_ + kPriorWeight);
}

}  // namespace tenon
