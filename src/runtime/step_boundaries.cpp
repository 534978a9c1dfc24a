#include "runtime/step_boundaries.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

namespace tenon {
namespace {

constexpr int kRunsAtOnce = 8;  ///< With one boundary: each needs a graph of its own.
constexpr size_t kKept = 16;    ///< Runs of a boundary.

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

/// The end, the beginning, then the middles of gaps, the largest first.
std::vector<size_t> ordered(size_t steps) {
  std::vector<size_t> order{steps, 0};
  std::vector<std::pair<size_t, size_t>> gaps{{0, steps}};
  for (size_t i = 0; i < gaps.size(); ++i) {
    const auto [first, last] = gaps[i];
    if (last - first < 2) continue;
    const size_t middle = first + (last - first) / 2;
    order.push_back(middle);
    gaps.emplace_back(first, middle);
    gaps.emplace_back(middle, last);
  }
  return order;
}

}  // namespace

StepBoundaries::StepBoundaries(std::vector<double> proportions)
    : proportions_(std::move(proportions)), order_(ordered(proportions_.size())) {}

void StepBoundaries::Seen::add(double to, double whole) {
  if (ahead.size() < kKept) {
    ahead.push_back(to);
    all.push_back(whole);
  } else {
    ahead[count % kKept] = to;
    all[count % kKept] = whole;
  }
  ++count;
}

void StepBoundaries::add(double ahead, double all) {
  seen_[next()].add(ahead, all);
  if (++runs_ < kRunsAtOnce) return;
  runs_ = 0;
  turn_ = (turn_ + 1) % order_.size();
}

/// By how much an event inside makes a run longer.
double StepBoundaries::event_cost(double whole) const {
  std::vector<double> longer;
  for (const auto& [boundary, seen] : seen_)
    if (boundary < proportions_.size()) longer.push_back(median(seen.all) - whole);
  return longer.empty() ? 0 : std::max(median(std::move(longer)), 0.0);
}

/// When each boundary that was met is reached in a run without events inside. A boundary's runs
/// are compared with their own ends, since the device's clock may have changed meanwhile.
std::map<size_t, double> StepBoundaries::places() const {
  const auto end = seen_.find(proportions_.size());
  if (end == seen_.end()) return {};
  const double whole = median(end->second.all), cost = event_cost(whole);
  std::map<size_t, double> places{{0, 0.0}, {proportions_.size(), whole}};
  for (size_t boundary : order_) {
    const auto found = seen_.find(boundary);
    if (found == seen_.end() || boundary == proportions_.size()) continue;
    const double own = median(found->second.all) - cost;
    const double place = own > 0 ? median(found->second.ahead) * whole / own : 0;
    if (boundary == 0) {
      places[0] = std::min(place, whole);
      continue;
    }
    const auto above = places.upper_bound(boundary);
    places.emplace(boundary, std::clamp(place, std::prev(above)->second, above->second));
  }
  return places;
}

std::vector<double> StepBoundaries::times() const {
  const std::map<size_t, double> places = this->places();
  if (places.empty()) return proportions_;
  std::vector<double> times = proportions_;
  for (auto from = places.begin(), to = std::next(from); to != places.end(); ++from, ++to) {
    const auto first = times.begin() + static_cast<std::ptrdiff_t>(from->first);
    const auto last = times.begin() + static_cast<std::ptrdiff_t>(to->first);
    const double sum = std::accumulate(first, last, 0.0), real = to->second - from->second;
    const double equal = real / static_cast<double>(to->first - from->first);
    std::transform(first, last, first,
                   [&](double share) { return sum > 0 ? share * real / sum : equal; });
  }
  return times;
}

}  // namespace tenon
