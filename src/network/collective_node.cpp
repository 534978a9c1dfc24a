#include "network/collective_node.h"

#include <utility>

#include "network/plugin_node.h"
#include "ops/structure.h"

namespace tenon::network {

Value* collective(Emitter& e, Value* input, plugin::Collective operation) {
  if (operation.group.size() == 1) return e.add(Identity{}, {input});
  const auto instance = plugin::make_collective(std::move(operation));
  const auto made = add_plugin(e, *instance, {input}, 1);
  if (made.ok()) return made->front();
  e.fail(made.error());
  return nullptr;
}

}  // namespace tenon::network
