#include "plan/branches.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <unordered_map>
#include <vector>

namespace tenon {
namespace {

/// Layers of a section at most, the part of their sum that it takes at least, and milliseconds that
/// each further stream costs.
constexpr int kLongest = 64;
constexpr double kBestPart = 0.6, kForkAndJoin = 0.004;

std::optional<int> take_number(std::string_view& text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || number < 0) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return number;
}

bool take(std::string_view& text, char wanted) {
  if (text.empty() || text[0] != wanted) return false;
  text.remove_prefix(1);
  return true;
}

/// A layer that takes time.
struct Layer {
  int place = 0;
  double milliseconds = 0;
  std::vector<int> needs;  ///< Earlier layers, by number.
};

std::vector<Layer> layers_of(const ConcreteGraph& graph,
                             const std::map<int, double>& milliseconds) {
  std::vector<Layer> layers;
  std::unordered_map<const Value*, std::vector<int>> writers;  // Of each root, so far.
  int place = -1;
  for (const auto& node : graph.graph().nodes()) {
    const auto time = milliseconds.find(++place);
    if (time == milliseconds.end()) continue;
    const int number = static_cast<int>(layers.size());
    Layer& layer = layers.emplace_back(Layer{place, time->second, {}});
    for (const Value* input : node->inputs()) {
      if (input == nullptr) continue;
      const auto found = writers.find(graph.storage(input).root);
      if (found != writers.end())
        layer.needs.insert(layer.needs.end(), found->second.begin(), found->second.end());
    }
    for (const Value* output : node->outputs())
      writers[graph.storage(output).root].push_back(number);
  }
  return layers;
}

/// Layers [first, last) by their dependencies, each on a stream.
class Section {
 public:
  Section(std::span<const Layer> layers, int first) : layers_(layers), first_(first) {}

  void add(int number) {
    parents_.push_back(number);
    for (const int needed : layers_[number].needs)
      if (needed >= first_) parents_[root(needed) - first_] = root(number);
  }

  /// The longest branch goes first, each to the stream with least to do.
  double place(int streams, std::vector<int>& stream_of) {
    std::map<int, double> branches;
    for (size_t i = 0; i < parents_.size(); ++i)
      branches[root(first_ + static_cast<int>(i))] += layers_[first_ + i].milliseconds;
    std::vector<std::pair<double, int>> order;
    for (const auto& [branch, time] : branches) order.emplace_back(-time, branch);
    std::sort(order.begin(), order.end());
    std::vector<double> loads(std::min<size_t>(streams, order.size()), 0);
    std::map<int, int> streams_of;
    double sum = 0;
    for (const auto& [time, branch] : order) {
      const auto least = std::min_element(loads.begin(), loads.end());
      *least -= time;
      sum -= time;
      streams_of[branch] = static_cast<int>(least - loads.begin());
    }
    stream_of.clear();
    for (size_t i = 0; i < parents_.size(); ++i)
      stream_of.push_back(streams_of[root(first_ + static_cast<int>(i))]);
    const double longest = *std::max_element(loads.begin(), loads.end());
    return std::max(longest, kBestPart * sum) +
           kForkAndJoin * static_cast<double>(loads.size() - 1);
  }

 private:
  int root(int number) {
    while (parents_[number - first_] != number) number = parents_[number - first_];
    return number;
  }

  std::span<const Layer> layers_;
  int first_;
  std::vector<int> parents_;
};

}  // namespace

std::string to_text(const Branches& branches) {
  std::string text;
  for (const auto& [place, branch] : branches)
    text +=
        fmt::format("{}{}={}:{}", text.empty() ? "" : " ", place, branch.section, branch.stream);
  return text;
}

Branches parse_branches(std::string_view text) {
  constexpr int kMostStreams = 64;
  Branches branches;
  while (!text.empty()) {
    const auto place = take_number(text);
    if (!place || !take(text, '=')) return {};
    const auto section = take_number(text);
    if (!section || !take(text, ':')) return {};
    const auto stream = take_number(text);
    if (!stream || *stream >= kMostStreams || (!text.empty() && !take(text, ' '))) return {};
    branches[*place] = {*section, *stream};
  }
  return branches;
}

int aux_streams(const Branches& branches) {
  int most = 0;
  for (const auto& [place, branch] : branches) most = std::max(most, branch.stream);
  return most;
}

Branches find_branches(const ConcreteGraph& graph, const std::map<int, double>& milliseconds,
                       int streams) {
  const std::vector<Layer> layers = layers_of(graph, milliseconds);
  const int count = static_cast<int>(layers.size());
  std::vector<double> best(static_cast<size_t>(count) + 1, 0);
  std::vector<int> ends(layers.size());
  std::vector<std::vector<int>> chosen(layers.size());
  for (int first = count - 1; first >= 0; --first) {
    best[first] = layers[first].milliseconds + best[first + 1];
    ends[first] = first + 1;
    Section section(layers, first);
    std::vector<int> stream_of;
    for (int last = first; last < std::min(count, first + kLongest); ++last) {
      section.add(last);
      if (last == first) continue;
      const double time = section.place(streams, stream_of) + best[last + 1];
      if (time >= best[first] * (1 - 1e-9)) continue;
      best[first] = time;
      ends[first] = last + 1;
      chosen[first] = stream_of;
    }
  }
  Branches branches;
  int number = 0;
  for (int first = 0; first < count; first = ends[first]) {
    if (chosen[first].empty()) continue;
    ++number;
    for (int i = first; i < ends[first]; ++i)
      branches[layers[i].place] = {number, chosen[first][i - first]};
  }
  return branches;
}

}  // namespace tenon
