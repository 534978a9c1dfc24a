#include "network/adopt.h"

#include "network/other_layer.h"

namespace tenon::network {
namespace {

/// A node that no layer type of the surface describes. It can be connected and named, not changed.
class ImportedLayer final : public OtherLayer {
 public:
  explicit ImportedLayer(Network& network) : OtherLayer(network) { forbid_changes(); }
  std::vector<Value*> lower(Emitter& e) override {
    e.fail(internal_error("an imported node has no other form"));
    return {};
  }
};

}  // namespace

std::unique_ptr<LayerCore> adopt_node(Network& network, Node& node) {
  switch (node.kind()) {
#define TENON_LAYER_TYPE(Struct, type) \
  case OpKind::k##Struct:              \
    return adopt(network, node, *node.as<tenon::Struct>());
#include "network/layer_types.def"
    default:
      return std::make_unique<ImportedLayer>(network);
  }
}

}  // namespace tenon::network
