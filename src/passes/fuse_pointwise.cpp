// Adjacent pointwise operators become one region, so that intermediate values stay in registers. A
// producer joins its consumer's group when all its uses lie inside it and it has the group's shape.
// Quantization with one scale and its reverse are members where the device's kernels round inside a
// group. Runs after fuse_epilogue and fuse_quantized, which take what belongs to a product.
#include <algorithm>
#include <unordered_set>

#include "ops/ops.h"
#include "ops/region.h"
#include "passes/match.h"
#include "passes/pass.h"
#include "passes/quantized.h"

namespace tenon {
namespace {

constexpr size_t kMaxNodes = 24;
constexpr size_t kMaxOperands = 12;

/// Quantization of reals to bytes with one known scale, or its reverse.
bool rounds(const Node& node) {
  return (node.is<Quantize>() || node.is<Dequantize>()) && is_per_tensor(node) &&
         (node.is<Quantize>() || node.input(0)->constant() == nullptr);
}
/// The real side of such a node.
DataType real_type(const Node& node) {
  return (node.is<Quantize>() ? node.input(0) : node.output())->type.type;
}

/// Whether the device's groups round so.
bool is_rounding_member(const Node& node, const PassOptions& options) {
  if (!rounds(node)) return false;
  const DataType real = real_type(node);
  if (options.rounding_groups)
    return is_multiplied(quantized_type(node), options) &&
           (real == DataType::kFloat32 || is_half(real));
  return options.bytes_in_groups && is_byte_integer(quantized_type(node)) &&
         real == DataType::kFloat32 && node.input(1)->type.type == DataType::kFloat32;
}

bool is_member(const Node& node, const PassOptions& options) {
  return node.is<Pointwise>() || node.is<Cast>() || is_rounding_member(node, options);
}

/// What kernels compute beside rounding: functions of truth values and of f32, or of 16 bits where
/// groups take these.
bool fits_beside_rounding(const Node& node, const PassOptions& options) {
  if (rounds(node)) return true;
  const auto fits = [&](const Value* value) {
    const DataType type = value->type.type;
    return type == DataType::kFloat32 || type == DataType::kBool ||
           (options.rounding_groups && is_half(type));
  };
  return std::all_of(node.inputs().begin(), node.inputs().end(), fits) && fits(node.output());
}

/// Values that go through the group: not scale and zero point.
size_t operand_count(const Node& node) {
  return rounds(node) ? 1 : node.inputs().size();
}

class Group {
 public:
  Group(const Graph& graph, Node* root, const PassOptions& options)
      : graph_(graph), options_(options), shape_(root->output()->type.shape) {
    add(root);
  }

  /// Takes in producers until none fits any more.
  void grow(const PassContext& context) {
    for (size_t i = 0; i < members_.size(); ++i)  // Grows while it runs.
      for (const Value* operand : members_[i]->inputs())
        if (fits(operand, context)) add(operand->producer());
  }

  /// In topological order: producers were added after their consumers.
  std::vector<Node*> ordered() const {
    return nodes_of(graph_, [&](const Node& node) { return inside_.contains(&node); });
  }
  size_t size() const { return members_.size(); }

 private:
  bool fits(const Value* value, const PassContext& context) const {
    if (value == nullptr || value->producer() == nullptr || graph_.is_output(value)) return false;
    const Node& producer = *value->producer();
    if (inside_.contains(&producer) || !is_member(producer, context.options()) ||
        !context.allows_fusion(producer))
      return false;
    if (rounds(producer) ? !all_fit_ : rounds_ && !fits_beside_rounding(producer, options_))
      return false;
    if (value->type.shape != shape_ || members_.size() >= kMaxNodes) return false;
    if (operands_ + operand_count(producer) > kMaxOperands) return false;
    return std::all_of(value->uses().begin(), value->uses().end(),
                       [this](const Use& use) { return inside_.contains(use.node); });
  }

  void add(Node* node) {
    members_.push_back(node);
    inside_.insert(node);
    operands_ += operand_count(*node) - (members_.size() > 1 ? 1 : 0);
    rounds_ |= rounds(*node);
    all_fit_ &= fits_beside_rounding(*node, options_);
  }

  const Graph& graph_;
  const PassOptions& options_;
  const Shape& shape_;
  std::vector<Node*> members_;
  std::unordered_set<const Node*> inside_;
  size_t operands_ = 0;
  bool rounds_ = false, all_fit_ = true;
};

/// "fusedPointwiseNode(add1, relu1)": without quantization, whose names are generated, where there
/// is something else.
std::string group_name(const std::vector<Node*>& nodes) {
  const bool only_rounds =
      std::all_of(nodes.begin(), nodes.end(), [](const Node* node) { return rounds(*node); });
  std::string list;
  for (const Node* node : nodes)
    if (only_rounds || !rounds(*node)) list += (list.empty() ? "" : ", ") + node->name;
  return "fusedPointwiseNode(" + list + ")";
}

}  // namespace

bool fuse_pointwise(Graph& graph, PassContext& context) {
  const std::vector<Node*> roots = fusible_nodes(
      graph, context, [&](const Node& node) { return is_member(node, context.options()); });
  std::unordered_set<const Node*> done;
  return for_each_from_back(roots, [&](Node& root) {
    if (done.contains(&root)) return false;
    Group group(graph, &root, context.options());
    group.grow(context);
    if (group.size() < 2) return false;
    const std::vector<Node*> members = group.ordered();
    done.insert(members.begin(), members.end());
    return context.applied(make_region(graph, members, group_name(members))->name);
  });
}

}  // namespace tenon
