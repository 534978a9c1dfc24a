#include "plan/points.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "plan/concrete_graph.h"

namespace tenon {
namespace {

/// More groups of extents than these are tried at their ends alone.
constexpr size_t kMostLines = 3;

/// A profile's smallest, usual or largest shapes as symbols.
Result<SymbolValues> symbols_of(const Graph& graph, const Profile& profile,
                                Extents ShapeRange::*extents,
                                std::vector<int64_t> ShapeRange::*contents) {
  std::map<std::string, Extents> shapes;
  ShapeValues values;
  for (const auto& [name, range] : profile) {
    shapes[name] = range.*extents;
    if (range.has_values()) values[name] = range.*contents;
  }
  return bind_inputs(graph, shapes, values);
}

/// Smallest, usual and largest value.
using Ends = std::tuple<int64_t, int64_t, int64_t>;
/// Symbols that vary together, which often must be equal, by their ends.
using Lines = std::map<Ends, std::vector<std::string>>;

Lines lines_of(const SymbolValues& usual, const SymbolValues& least, const SymbolValues& most) {
  Lines lines;
  for (const auto& [name, value] : usual) {
    const auto low = least.find(name), high = most.find(name);
    if (low == least.end() || high == most.end() || low->second == high->second) continue;
    lines[{low->second, value, high->second}].push_back(name);
  }
  return lines;
}

/// Values of an extent between two ends, both included.
using Steps = std::vector<int64_t> (*)(int64_t least, int64_t most);

std::vector<int64_t> nothing_between(int64_t, int64_t) {
  return {};
}

std::vector<int64_t> both_ends(int64_t least, int64_t most) {
  return {least, most};
}

std::vector<int64_t> powers_between(int64_t least, int64_t most) {
  std::vector<int64_t> values = {least};
  for (int64_t power = 1; power < most; power *= 2)
    if (power > least) values.push_back(power);
  values.push_back(most);
  return values;
}

/// Also the middles between the larger ones: kernels take a part of a sequence at a time, and lose
/// where the last part is all but empty.
std::vector<int64_t> lengths_between(int64_t least, int64_t most) {
  constexpr int64_t kFirst = 64;
  std::vector<int64_t> values = powers_between(least, most);
  for (int64_t power = kFirst; power + power / 2 < most; power *= 2)
    if (power + power / 2 > least) values.push_back(power + power / 2);
  return values;
}

/// All where there are few. Else the quarters of each doubling, with which rows of tiles end: up to
/// there, kernels take as long as from the one before on.
std::vector<int64_t> worth_a_trial(int64_t least, int64_t most) {
  constexpr int64_t kFew = 32, kFirst = 2;
  std::vector<int64_t> values;
  if (most - least <= kFew) {
    for (int64_t value = least; value <= most; ++value) values.push_back(value);
    return values;
  }
  for (int64_t power = kFirst; power < most; power *= 2)
    for (const int64_t value : {power * 5 / 4, power * 3 / 2, power * 7 / 4})
      if (value > least && value < most) values.push_back(value);
  return values;
}

/// Where there are very many, each step is odd, so that all remainders come up; also around each
/// power of two, where kernels are chosen, and multiples of kernels' tiles.
std::vector<int64_t> all_between(int64_t least, int64_t most) {
  constexpr int64_t kMost = 512, kEach = 8, kTile = 64;
  const auto odd = [](int64_t step) { return step / 2 * 2 + 1; };
  const int64_t step = odd((most - least) / kMost);
  std::vector<int64_t> values = lengths_between(least, most);
  for (int64_t value = least; value < most; value += step) values.push_back(value);
  if (step == 1) return values;
  for (int64_t power = 1; power < most; power *= 2)
    for (int64_t value = power; value < 2 * power; value += odd(power / kEach))
      values.push_back(value);
  const int64_t tiles = kTile * odd(most / kTile / kMost);
  for (int64_t value = tiles; value < most; value += tiles) values.push_back(value);
  std::erase_if(values, [&](int64_t value) { return value < least || value > most; });
  return values;
}

/// Whether one of the symbols is the length of sequences: an input's second axis.
bool are_lengths(const Graph& graph, const std::vector<std::string>& names) {
  return std::ranges::any_of(graph.inputs(), [&](const Value* input) {
    const Shape& shape = input->type.shape;
    const auto name = shape.size() < 2 ? std::nullopt : shape[1].as_symbol();
    return name.has_value() && std::ranges::find(names, *name) != names.end();
  });
}

std::vector<SymbolValues> points_of(const Graph& graph, const Profile& profile, Steps steps) {
  const auto ends = profile_ends(graph, profile);
  if (!ends.ok()) return {};
  std::vector<SymbolValues> points;
  const auto add = [&](const SymbolValues& point) {
    if (std::ranges::find(points, point) == points.end() &&
        ConcreteGraph::create(graph, point).ok())
      points.push_back(point);
  };
  for (const SymbolValues* point : {&ends->usual, &ends->least, &ends->most}) add(*point);
  const Lines lines = lines_of(ends->usual, ends->least, ends->most);
  if (lines.size() > kMostLines && steps != nothing_between) steps = both_ends;
  for (const auto& [range, names] : lines) {
    const Steps own =
        steps == powers_between && are_lengths(graph, names) ? lengths_between : steps;
    for (const int64_t value : own(std::get<0>(range), std::get<2>(range))) {
      SymbolValues point = ends->usual;
      for (const std::string& name : names) point[name] = value;
      add(point);
    }
  }
  return points;
}

std::vector<SymbolValues> all_points(const Plan& plan, Steps steps) {
  std::vector<SymbolValues> points;
  for (const Profile& profile : plan.profiles)
    for (SymbolValues& point : points_of(*plan.graph, profile, steps))
      if (std::ranges::find(points, point) == points.end()) points.push_back(std::move(point));
  return points;
}

}  // namespace

bool inner_axes_vary(const Graph& graph) {
  return std::ranges::any_of(graph.inputs(), [](const Value* input) {
    const Shape& shape = input->type.shape;
    return !shape.empty() && !is_constant(Shape(shape.begin() + 1, shape.end()));
  });
}

Result<ProfileEnds> profile_ends(const Graph& graph, const Profile& profile) {
  ProfileEnds ends;
  TENON_ASSIGN(ends.usual, symbols_of(graph, profile, &ShapeRange::opt, &ShapeRange::opt_values));
  auto least = symbols_of(graph, profile, &ShapeRange::min, &ShapeRange::min_values);
  auto most = symbols_of(graph, profile, &ShapeRange::max, &ShapeRange::max_values);
  // Ends of several ranges need not be a shape that the network runs.
  ends.least = least.ok() ? std::move(least).value() : ends.usual;
  ends.most = most.ok() ? std::move(most).value() : ends.usual;
  return ends;
}

void warn_of_profile_ends(const Graph& graph, const ExtentRules& rules,
                          std::span<const Profile> profiles, Logger& logger) {
  const auto run = [&](Result<SymbolValues> symbols) -> Status {
    if (!symbols.ok()) return std::move(symbols).error();
    if (symbols->empty()) return {};
    TENON_TRY(rules.check_operands(*symbols));
    TENON_TRY(ConcreteGraph::create(graph, std::move(symbols).value()));
    return {};
  };
  for (size_t i = 0; i < profiles.size(); ++i) {
    const auto warn = [&](std::string_view end, Extents ShapeRange::*extents,
                          std::vector<int64_t> ShapeRange::*contents) {
      const Status status = run(symbols_of(graph, profiles[i], extents, contents));
      if (!status.ok())
        logger.warning("profile {}: its {} shapes cannot run: {}", i, end, status.error().message);
    };
    warn("kMIN", &ShapeRange::min, &ShapeRange::min_values);
    warn("kMAX", &ShapeRange::max, &ShapeRange::max_values);
  }
}

std::vector<SymbolValues> profile_points(const Graph& graph, const Profile& profile) {
  return points_of(graph, profile, powers_between);
}

std::vector<SymbolValues> plan_points(const Plan& plan) {
  return all_points(plan, powers_between);
}

std::vector<SymbolValues> plan_trials(const Plan& plan) {
  return all_points(plan, worth_a_trial);
}

std::vector<SymbolValues> plan_ends(const Plan& plan) {
  return all_points(plan, nothing_between);
}

std::vector<SymbolValues> plan_shapes(const Plan& plan) {
  return all_points(plan, all_between);
}

std::vector<SymbolValues> few_plan_shapes(const Plan& plan, size_t most) {
  size_t count = 0;
  for (const Profile& profile : plan.profiles) {
    const auto ends = profile_ends(*plan.graph, profile);
    if (!ends.ok()) return {};
    const Lines lines = lines_of(ends->usual, ends->least, ends->most);
    if (lines.size() > kMostLines) return {};
    for (const auto& [range, names] : lines) {
      count += static_cast<size_t>(std::get<2>(range) - std::get<0>(range));
      if (count > most) return {};
    }
  }
  return all_points(plan, all_between);
}

double shape_distance(const SymbolValues& from, const SymbolValues& to) {
  double sum = 0;
  for (const auto& [name, value] : from) {
    const auto other = to.find(name);
    if (other == to.end()) continue;
    const auto size = [](int64_t extent) { return std::log2(static_cast<double>(extent) + 1); };
    sum += std::abs(size(value) - size(other->second));
  }
  return sum;
}

const Choice* nearest_choice(const std::vector<Choice>& choices, const SymbolValues& symbols) {
  const auto is_below = [&](const auto& one) {
    const auto value = symbols.find(one.first);
    return value != symbols.end() && one.second < value->second;
  };
  const Choice* nearest = nullptr;
  double least = 0;
  for (const Choice& choice : choices) {
    const auto below = static_cast<double>(std::ranges::count_if(choice.symbols, is_below));
    const double far = shape_distance(choice.symbols, symbols) + below;
    const bool is_larger = nearest != nullptr && choice.symbols > nearest->symbols;
    if (nearest != nullptr && (far > least || (far == least && !is_larger))) continue;
    nearest = &choice;
    least = far;
  }
  return nearest;
}

TacticTable table_of(const Choice& choice, const Graph& graph) {
  TacticTable table;
  int place = 0;
  for (const auto& node : graph.nodes()) {
    const auto found = choice.tactics.find(place++);
    if (found != choice.tactics.end()) table.emplace(node.get(), found->second);
  }
  return table;
}

}  // namespace tenon
