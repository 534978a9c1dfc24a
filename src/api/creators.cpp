#include "api/creators.h"

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

}  // namespace tenon::api
