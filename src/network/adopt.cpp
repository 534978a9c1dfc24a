#include "network/adopt.h"

#include <fmt/format.h>

#include "network/other_layer.h"

namespace tenon::network {
namespace {

class ImportedLayer final : public OtherLayer {
 public:
  ImportedLayer(Network& network, const Node& node)
      : OtherLayer(network, std::string(node.op->name())) {
    forbid_changes();
  }
  std::vector<Value*> lower(Emitter& e) override {
    e.fail(internal_error("an imported node has no other form"));
    return {};
  }
};

}  // namespace

std::unique_ptr<LayerCore> adopt_other(Network& network, const Node& node) {
  return std::make_unique<ImportedLayer>(network, node);
}

std::string metadata_of(std::string_view origin) {
  return fmt::format("[ONNX Layer: {}]", origin);
}

std::string metadata_of(const Node& node) {
  std::string text;
  for (const std::string& origin : node.origins)
    text += (text.empty() ? "" : "\x1e") + metadata_of(origin);
  return text;
}

std::unique_ptr<LayerCore> adopt_node(Network& network, Node& node) {
  switch (node.kind()) {
#define TENON_LAYER_TYPE(Struct, type) \
  case OpKind::k##Struct:              \
    return adopt(network, node, *node.as<tenon::Struct>());
#include "network/layer_types.def"
    default: return adopt_other(network, node);
  }
}

}  // namespace tenon::network
