#include "api/creators.h"

#include <algorithm>

#include "ops/structure.h"
#include "plugin/instance.h"

namespace tenon::api {

Status find_creators(const Graph& graph) {
  for (const auto& node : graph.nodes()) {
    if (const auto* plugin = node->as<Plugin>())
      TENON_TRY(plugin::Instance::find_creator({plugin->type, plugin->version, plugin->space}));
    for (const auto& body : node->bodies) TENON_TRY(find_creators(*body));
  }
  return {};
}

bool has_plugins(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const auto& node) {
    return node->template is<Plugin>() ||
           std::ranges::any_of(node->bodies, [](const auto& body) { return has_plugins(*body); });
  });
}

}  // namespace tenon::api
