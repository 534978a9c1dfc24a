#include "tools/report/compare.h"

#include <algorithm>
#include <map>
#include <set>

#include "tools/report/document.h"

namespace tenon::tools {
namespace {

/// Sets of ONNX nodes that grow together.
class Groups {
 public:
  /// The number of a node's group, at first its own.
  size_t find(const std::string& node) {
    const auto [entry, is_new] = numbers_.try_emplace(node, parents_.size());
    if (is_new) parents_.push_back(entry->second);
    return root(entry->second);
  }
  void join(const std::string& a, const std::string& b) { parents_[find(a)] = find(b); }

 private:
  size_t root(size_t number) {
    while (parents_[number] != number) number = parents_[number] = parents_[parents_[number]];
    return number;
  }
  std::map<std::string, size_t> numbers_;
  std::vector<size_t> parents_;
};

/// A layer that came from no node of the model stands for itself.
std::vector<std::string> keys_of(const Json& layer) {
  std::vector<std::string> keys;
  for (const Json& origin : member(layer, "origins")) keys.push_back(origin.get<std::string>());
  if (keys.empty()) keys.push_back(text_of(layer, "name"));
  return keys;
}

struct Side {
  double ms = 0;
  std::vector<std::string> layers;
  std::set<std::string> precisions, tactics;
};

struct Row {
  std::vector<std::string> nodes;
  Side sides[2];
  double slower_by() const { return sides[1].ms - sides[0].ms; }
};

Json side_json(const Side& side) {
  return {{"ms", side.ms},
          {"layers", side.layers},
          {"precisions", side.precisions},
          {"tactics", side.tactics}};
}

/// The model, and what was asked for: "bert.onnx --fp16".
std::string label_of(const Json& report) {
  std::string label = text_of(report, "title");
  for (const Json& flag : member(report, "asked"))
    label += fmt::format(" {}", flag.get<std::string>());
  return label;
}

bool is_run(const Json& layer) {
  return layer.contains("ms") || layer.contains("step");
}

void join_layers(const Json& report, Groups& groups) {
  for (const Json& layer : member(report, "layers")) {
    if (!is_run(layer)) continue;
    const std::vector<std::string> keys = keys_of(layer);
    for (const std::string& key : keys) groups.join(key, keys.front());
  }
}

/// The model's nodes in their order: of the network as given, else of the layers.
std::vector<std::string> nodes_of(const Json& report) {
  std::vector<std::string> nodes;
  for (const Json& node : member(member(report, "network"), "nodes"))
    nodes.push_back(text_of(node, "name"));
  if (!nodes.empty()) return nodes;
  for (const Json& layer : member(report, "layers"))
    for (const Json& origin : member(layer, "origins")) nodes.push_back(origin.get<std::string>());
  return nodes;
}

constexpr std::string_view kStretch = "{ForeignNode[", kStretchEnd = "]}", kTo = "...";

bool is_stretch(std::string_view key) {
  return key.starts_with(kStretch) && key.ends_with(kStretchEnd) && key.find(kTo) != key.npos;
}

/// The nodes that a layer "{ForeignNode[first...last]}" of TensorRT's stands for, of which it names
/// but two: those from the first to the last, of which no other layer tells. An end that is no node
/// of the model is that of the model.
std::vector<std::string> nodes_in_stretch(std::string_view key,
                                          const std::vector<std::string>& nodes,
                                          const std::set<std::string>& told) {
  key = key.substr(kStretch.size(), key.size() - kStretch.size() - kStretchEnd.size());
  const size_t to = key.find(kTo);
  const auto first = std::ranges::find(nodes, key.substr(0, to));
  const auto last = std::ranges::find(nodes, key.substr(to + kTo.size()));
  const auto begin = first == nodes.end() ? nodes.begin() : first;
  const auto end = last == nodes.end() ? last : last + 1;
  std::vector<std::string> within;
  for (auto node = begin; node < end; ++node)
    if (!told.contains(*node)) within.push_back(*node);
  return within;
}

/// Layers that stand for a stretch of the model join the layers that the other side has of it.
void join_stretches(const Json& report, const Json& other, Groups& groups) {
  std::set<std::string> told;
  for (const Json& layer : member(report, "layers"))
    for (std::string& key : keys_of(layer)) told.insert(std::move(key));
  std::vector<std::string> nodes;
  for (const std::string& key : told) {
    if (!is_stretch(key)) continue;
    if (nodes.empty()) nodes = nodes_of(other);
    for (const std::string& node : nodes_in_stretch(key, nodes, told)) groups.join(node, key);
  }
}

void add_layers(const Json& report, int side, Groups& groups, std::map<size_t, Row>& rows) {
  for (const Json& layer : member(report, "layers")) {
    if (!is_run(layer)) continue;
    const std::vector<std::string> keys = keys_of(layer);
    Row& row = rows[groups.find(keys.front())];
    for (const std::string& key : keys)
      if (std::ranges::find(row.nodes, key) == row.nodes.end()) row.nodes.push_back(key);
    Side& of = row.sides[side];
    of.ms += number_of(layer, "ms");
    of.layers.push_back(text_of(layer, "name"));
    of.precisions.insert(text_of(layer, "precision"));
    of.tactics.insert(text_of(layer, "tactic"));
  }
}

}  // namespace

Json make_comparison(Json a, Json b) {
  Groups groups;
  join_layers(a, groups);
  join_layers(b, groups);
  join_stretches(a, b, groups);
  join_stretches(b, a, groups);
  std::map<size_t, Row> by_group;
  add_layers(a, 0, groups, by_group);
  add_layers(b, 1, groups, by_group);
  std::vector<Row> rows;
  for (auto& [group, row] : by_group) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::greater<>(), &Row::slower_by);
  double totals[2] = {};
  Json list = Json::array();
  for (const Row& row : rows) {
    for (int side = 0; side < 2; ++side) totals[side] += row.sides[side].ms;
    list.push_back({{"nodes", row.nodes},
                    {"a", side_json(row.sides[0])},
                    {"b", side_json(row.sides[1])},
                    {"slowerBy", row.slower_by()}});
  }
  Json comparison = {{"schema", kComparisonSchema},
                     {"version", kReportVersion},
                     {"title", fmt::format("{} against {}", label_of(b), label_of(a))},
                     {"aMs", totals[0]},
                     {"bMs", totals[1]},
                     {"rows", list}};
  comparison["a"] = std::move(a);
  comparison["b"] = std::move(b);
  return comparison;
}

}  // namespace tenon::tools
