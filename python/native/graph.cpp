#include "graph.h"

#include <unordered_map>

namespace tenon::python {
namespace {

struct Kept {
  std::vector<nb::object> arrays;
};

/// Networks' and layers' shelves, by address. Python's lock guards it.
std::unordered_map<const void*, Kept*>& shelves() {
  static auto* const shelves =
      new std::unordered_map<const void*, Kept*>;  // Python may end after static objects.
  return *shelves;
}

Kept& shelf(nb::handle network) {
  const void* key = nb::inst_ptr<INetworkDefinition>(network);
  auto [found, made] = shelves().try_emplace(key, nullptr);
  if (!made) return *found->second;
  auto* kept = new Kept;
  found->second = kept;
  nb::keep_alive_cb(network, kept, [](void* payload) noexcept {
    auto* ended = static_cast<Kept*>(payload);
    std::erase_if(shelves(), [&](const auto& row) { return row.second == ended; });
    delete ended;
  });
  return *kept;
}

}  // namespace

void keep_array(nb::handle network, const OwnedWeights& weights) {
  if (weights.owner.is_valid()) shelf(network).arrays.push_back(weights.owner);
}

void keep_layer(nb::handle network, const ILayer* layer) {
  if (!layer) return;
  shelves().insert_or_assign(layer, &shelf(network));
}

void keep_array(const ILayer* layer, const OwnedWeights& weights) {
  if (!weights.owner.is_valid()) return;
  const auto found = shelves().find(layer);
  if (found == shelves().end())
    throw nb::value_error("the layer's network is not known: get the layer from it");
  found->second->arrays.push_back(weights.owner);
}

}  // namespace tenon::python
