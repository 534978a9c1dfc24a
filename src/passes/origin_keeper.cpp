#include "passes/origin_keeper.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "base/pointer_map.h"
#include "ops/ops.h"
#include "passes/match.h"

namespace tenon {
namespace {

/// Moves or converts elements: passes put such nodes around computing nodes.
bool only_moves(const Node& node) {
  return is_reshape(&node) || node.is<Transpose>() || node.is<Identity>() || node.is<Cast>() ||
         node.is<Expand>() || node.is<Reformat>();
}

bool has_elements(const Node& node) {
  return !node.outputs().empty() && std::ranges::all_of(node.outputs(), [](const Value* output) {
    return output->elements.has_value();
  });
}

template <class F> void for_each_layer(const Graph& graph, const F& f) {
  for (const auto& node : graph.nodes()) {
    if (is_constant(*node)) continue;
    f(*node);
    if (node->is<Fused>()) continue;  // Has the origins of its nodes.
    for (const auto& body : node->bodies) for_each_layer(*body, f);
  }
}

}  // namespace

/// The layers that are there after a pass.
struct OriginKeeper::Layers {
  explicit Layers(const Graph& graph) {
    for_each_layer(graph, [this](Node& node) {
      if (node.origins.empty() && !node.name.empty()) by_name.emplace(node.name, &node);
      for (const std::string& origin : node.origins) {
        Node*& place = by_origin[origin];
        if (place == nullptr || !only_moves(node) || only_moves(*place)) place = &node;
      }
    });
  }
  std::unordered_map<std::string_view, Node*> by_origin, by_name;
};

void OriginKeeper::take(const Graph& graph) {
  records_.clear();
  bodies_ = 0;
  add(graph, -1);
  if (std::exchange(begun_, true)) return;
  for (const Record& record : records_)
    if (record.is_source)
      constants_.insert(constants_.end(), record.origins.begin(), record.origins.end());
}

void OriginKeeper::add(const Graph& graph, int parent) {
  const int body = bodies_++;
  PointerMap<Node, int> places;
  places.reserve(graph.nodes().size());
  for (const auto& node : graph.nodes()) {
    const int place = static_cast<int>(records_.size());
    places.try_emplace(node.get(), place);
    Record& record = records_.emplace_back();
    record.name = node->name;
    record.origins = node->origins;
    record.parent = parent;
    record.body = body;
    record.is_source = is_constant(*node);
    if (node->is<Fused>()) continue;
    for (const auto& inner : node->bodies) add(*inner, place);
  }
  for (const auto& node : graph.nodes()) {
    const int place = places.at(node.get());
    bool from_known = !node->inputs().empty();
    for (const Value* input : node->inputs()) {
      if (input == nullptr) continue;
      const auto source = places.find(input->producer());
      from_known = from_known && source != places.end() && records_[source->second].is_known;
      if (source == places.end()) continue;
      records_[place].sources.push_back(source->second);
      records_[source->second].readers.push_back(place);
    }
    Record& record = records_[place];
    record.is_known = record.is_source || from_known || has_elements(*node);
  }
  for (const Value* output : graph.outputs())
    if (const auto place = places.find(output->producer()); place != places.end())
      records_[place->second].gives_result = true;
}

Node* OriginKeeper::survivor(const Layers& layers, const Record& record) const {
  for (const std::string& origin : record.origins)
    if (const auto found = layers.by_origin.find(origin); found != layers.by_origin.end())
      return found->second;
  if (!record.origins.empty()) return nullptr;
  const auto found = layers.by_name.find(record.name);
  return found == layers.by_name.end() ? nullptr : found->second;
}

bool OriginKeeper::body_is_left(const Layers& layers, int body) const {
  return std::ranges::any_of(records_, [&](const Record& record) {
    return record.body == body && survivor(layers, record) != nullptr;
  });
}

/// The nearest layer that is left downstream; of a result, else the nearest upstream. Null where
/// known values stand between.
Node* OriginKeeper::heir(const Layers& layers, int lost) const {
  std::vector<int> work = {lost};
  std::vector<bool> seen(records_.size());
  bool gives_result = false;
  const auto reach = [&](int record) {
    if (records_[record].is_known || seen[record]) return;
    seen[record] = true;
    work.push_back(record);
  };
  for (size_t i = 0; i < work.size(); ++i) {
    const Record& record = records_[work[i]];
    if (Node* found = survivor(layers, record)) return found;
    for (const int reader : record.readers) reach(reader);
    if (!record.gives_result) continue;
    if (record.parent < 0)
      gives_result = true;
    else if (survivor(layers, records_[record.parent]) || body_is_left(layers, record.body))
      reach(record.parent);
  }
  if (!gives_result) return nullptr;
  work.clear();
  seen.assign(records_.size(), false);
  reach(lost);
  for (size_t i = 0; i < work.size(); ++i) {
    const Record& record = records_[work[i]];
    if (Node* found = survivor(layers, record)) return found;
    for (const int source : record.sources) reach(source);
  }
  return nullptr;
}

void OriginKeeper::keep(Graph& graph, std::string_view pass) {
  const Layers layers(graph);
  std::unordered_map<std::string_view, Node*> heirs;
  std::vector<std::pair<std::string_view, const Record*>> lost;
  for (size_t i = 0; i < records_.size(); ++i) {
    const Record& record = records_[i];
    if (record.is_source) continue;
    for (const std::string& origin : record.origins) {
      if (layers.by_origin.contains(origin)) continue;
      lost.emplace_back(origin, &record);
      Node*& to = heirs[origin];
      // One node of the model may have been several.
      if (to == nullptr && !record.is_known) to = heir(layers, static_cast<int>(i));
    }
  }
  std::unordered_set<std::string_view> done;
  for (const auto& [origin, record] : lost) {
    if (!done.insert(origin).second) continue;
    if (Node* const to = heirs.at(origin))
      to->origins.emplace_back(origin);
    else
      gone_.push_back({std::string(origin), pass, record->is_known});
  }
  take(graph);
}

std::vector<GoneNode> OriginKeeper::gone(const Graph& graph) const {
  const Layers layers(graph);
  std::vector<GoneNode> all = gone_;
  std::unordered_set<std::string_view> told;
  for (const GoneNode& node : gone_) told.insert(node.name);
  for (const std::string& origin : constants_)
    if (!layers.by_origin.contains(origin) && told.insert(origin).second)
      all.push_back({origin, "", true});
  return all;
}

}  // namespace tenon
