#include "api/configure_plugins.h"

#include <algorithm>

#include "network/convert.h"
#include "network/plugin_formats.h"
#include "ops/structure.h"
#include "ops/table.h"
#include "plan/points.h"
#include "plugin/instance.h"
#include "select/compile.h"

namespace tenon::api {
namespace {

using plugin::OperandType;

bool has_plugin(const Graph& graph) {
  return std::ranges::any_of(graph.nodes(), [](const auto& node) {
    return node->template is<Plugin>() ||
           std::ranges::any_of(node->bodies, [](const auto& body) { return has_plugin(*body); });
  });
}

/// An extent at the ends of all profiles; -1 where it does not follow from them.
int64_t extent_at(const Dim& dim, const std::vector<SymbolValues>& points, bool largest) {
  int64_t found = -1;
  for (const SymbolValues& symbols : points) {
    const int64_t value = dim.evaluate(symbols).value_or(-1);
    found = found < 0 ? value : largest ? std::max(found, value) : std::min(found, value);
  }
  return found;
}

class Bounds {
 public:
  Status add(const Graph& graph, const Profile& profile) {
    TENON_ASSIGN(const ProfileEnds ends, profile_ends(graph, profile));
    usual_.push_back(ends.usual);
    ends_.insert(ends_.end(), {ends.least, ends.most});
    return {};
  }

  /// `open`: the shape as the network has it, `closed`: with the extents that all profiles fix.
  OperandType operand(const TensorType& open, const TensorType& closed) const {
    const auto dims = [&](auto&& extent) {
      nvinfer1::Dims result = network::to_dims(closed.shape);
      for (int32_t i = 0; i < result.nbDims; ++i)
        result.d[i] = extent(closed.shape[static_cast<size_t>(i)]);
      return result;
    };
    const auto type = network::to_public(open.type);
    return {network::to_dims(open.shape), type.value_or(nvinfer1::DataType::kFLOAT),
            nvinfer1::TensorFormat::kLINEAR,
            plugin::ExtentBounds{
                dims([&](const Dim& dim) { return extent_at(dim, ends_, false); }),
                dims([&](const Dim& dim) { return dim.evaluate(usual_.front()).value_or(-1); }),
                dims([&](const Dim& dim) { return extent_at(dim, ends_, true); })}};
  }

 private:
  std::vector<SymbolValues> usual_, ends_;
};

Status configure(Node& node, const Node& closed, const Bounds& bounds) {
  auto& op = *node.as<Plugin>();
  const size_t all = node.inputs().size();
  const size_t read = op.inputs < 0 ? all : std::min(all, static_cast<size_t>(op.inputs));
  std::vector<OperandType> operands;
  bool is_open = false;
  const auto add = [&](const Value& value, const Value& counterpart) {
    is_open = is_open || !is_constant(value.type.shape);
    operands.push_back(bounds.operand(value.type, counterpart.type));
  };
  for (size_t i = 0; i < read; ++i) add(*node.inputs()[i], *closed.inputs()[i]);
  for (size_t i = 0; i < node.outputs().size(); ++i) add(*node.outputs()[i], *closed.outputs()[i]);
  if (!is_open) return {};  // It knows all since it was added.
  for (size_t i = 0; i < operands.size(); ++i) operands[i].scale = static_cast<float>(op.scale(i));
  TENON_ASSIGN(const auto instance,
               plugin::Instance::create({op.type, op.version, op.space}, op.fields));
  if (!instance->builds()) return {};
  TENON_ASSIGN(op.fields, network::configured_fields(*instance, std::move(operands),
                                                     static_cast<int32_t>(read)));
  return {};
}

Status configure_all(Graph& graph, const Graph& closed, const Bounds& bounds) {
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    Node& node = *graph.nodes()[i];
    const Node& counterpart = *closed.nodes()[i];
    if (node.is<Plugin>()) TENON_TRY(configure(node, counterpart, bounds));
    for (size_t k = 0; k < node.bodies.size(); ++k)
      TENON_TRY(configure_all(*node.bodies[k], *counterpart.bodies[k], bounds));
  }
  return {};
}

}  // namespace

Status configure_plugins(Graph& graph, std::vector<Profile> profiles) {
  if (!has_plugin(graph)) return {};
  const std::unique_ptr<Graph> ranged = graph.clone();
  TENON_TRY(apply_profiles(*ranged, profiles));
  const std::unique_ptr<Graph> closed = graph.clone();
  for (size_t i = 0; i < closed->inputs().size(); ++i)
    closed->inputs()[i]->type.shape = ranged->inputs()[i]->type.shape;
  TENON_TRY(infer_graph(*closed));
  Bounds bounds;
  for (const Profile& profile : profiles) TENON_TRY(bounds.add(*ranged, profile));
  return configure_all(graph, *closed, bounds);
}

}  // namespace tenon::api
