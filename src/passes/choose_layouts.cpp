// Keeps images channels-last from the first convolution to the last: kernels for convolution,
// pooling and resizing want it, pointwise and joining operators follow, everything else gets a
// reformat in front. Runs after fusion, since it looks at regions as wholes.
#include <algorithm>
#include <map>

#include "ops/ops.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// A node's layout preference for its operands.
enum class LayoutPreference {
  kChannelsLast,  ///< Faster so: operands are reformatted.
  kFollows,       ///< Channels-last when an operand already is.
  kAnyInput,      ///< Reads operands as they are, gives row-major.
  kRowMajor,      ///< Operands that are channels-last are reformatted.
};

/// The operator that a region was made around: its first one that is neither pointwise nor a
/// conversion, or else its first one. Other nodes are their own.
const Node* anchor_of(const Node& node) {
  if (!node.is<Fused>()) return &node;
  for (const auto& inner : node.bodies[0]->nodes())
    if (!inner->is<Pointwise>() && !inner->is<Cast>() && !inner->is<Dequantize>() &&
        !inner->is<Quantize>())
      return inner.get();
  return node.bodies[0]->nodes().front().get();
}

bool is_image(const Value* value) {
  return value != nullptr && value->type.shape.size() >= 3;
}

/// Reduction of all spatial axes and no other.
bool reduces_image(const Reduce& reduce, const Node& node) {
  const int64_t rank = static_cast<int64_t>(node.input(0)->type.shape.size());
  if (node.has_input(1) || rank < 3 || static_cast<int64_t>(reduce.axes.size()) != rank - 2)
    return false;
  return std::all_of(reduce.axes.begin(), reduce.axes.end(),
                     [&](int64_t axis) { return (axis < 0 ? axis + rank : axis) >= 2; });
}

LayoutPreference layout_preference_of(const Node& node) {
  const Node& anchor = *anchor_of(node);
  if (anchor.is<Conv>() || anchor.is<Deconv>()) return LayoutPreference::kChannelsLast;
  if (const auto* pool = anchor.as<Pool>())
    return anchor.outputs().size() == 1 && pool->function != PoolFunction::kLp
               ? LayoutPreference::kFollows
               : LayoutPreference::kRowMajor;
  if (anchor.is<Pointwise>() || anchor.is<Cast>() || anchor.is<Concat>() || anchor.is<Split>() ||
      anchor.is<Slice>() || anchor.is<Pad>() || anchor.is<DepthToSpace>() ||
      anchor.is<SpaceToDepth>() || anchor.is<Quantize>() || anchor.is<Dequantize>() ||
      anchor.is<DynamicQuantize>())
    return LayoutPreference::kFollows;
  if (const auto* resize = anchor.as<Resize>())
    return resize->axes.empty() && !resize->antialias ? LayoutPreference::kFollows
                                                      : LayoutPreference::kRowMajor;
  if (const auto* norm = anchor.as<Normalization>())
    return norm->norm == NormKind::kInstance || norm->norm == NormKind::kGroup
               ? LayoutPreference::kFollows
               : LayoutPreference::kRowMajor;
  if (const auto* reduce = anchor.as<Reduce>(); reduce != nullptr && reduces_image(*reduce, anchor))
    return LayoutPreference::kFollows;
  if (node.is<Reshape>() || node.is<Flatten>() || node.is<Squeeze>() || node.is<Unsqueeze>() ||
      node.is<Transpose>())
    return LayoutPreference::kAnyInput;
  return LayoutPreference::kRowMajor;
}

/// Reduces some of the axes of an image, whose extents become 1 (`keeps`) or go.
bool reduces_axes(const Node& node, bool keeps) {
  const Node& anchor = *anchor_of(node);
  if (const auto* reduce = anchor.as<Reduce>())
    return !anchor.has_input(1) && reduce->keep_dims == keeps;
  const auto* index = anchor.as<ArgReduce>();
  return index != nullptr && index->keep_dims == keeps;
}

/// Brings channels that lie last to axis 1, as behind normalizations of pixels: a channels-last
/// image as it lies.
bool brings_channels_back(const Node& node) {
  const auto* transpose = node.as<Transpose>();
  if (transpose == nullptr || node.input(0)->type.layout != Layout::kRowMajor) return false;
  const std::vector<int64_t>& permutation = transpose->permutation;
  const auto rank = static_cast<int64_t>(permutation.size());
  if (rank < 4 || permutation[0] != 0 || permutation[1] != rank - 1) return false;
  for (int64_t i = 2; i < rank; ++i)
    if (permutation[i] != i - 1) return false;
  return true;
}

/// Chooses among the channels of an image.
bool is_channel_gather(const Node& node) {
  const auto* gather = node.as<Gather>();
  return gather != nullptr && gather->axis == 1 && node.input(1)->type.shape.size() == 1;
}

Dim bytes_of(const Value& value) {
  return product(value.type.shape) * Dim(byte_size(value.type.type));
}

/// Both layouts put the elements at the same places.
bool layouts_agree(const Shape& shape) {
  if (shape.size() < 3 || shape[1] == Dim(1)) return true;
  return std::all_of(shape.begin() + 2, shape.end(), [](const Dim& dim) { return dim == Dim(1); });
}

class LayoutChooser {
 public:
  LayoutChooser(Graph& graph, const PassOptions& options) : graph_(graph), options_(options) {}

  bool run() {
    for (Node* node : nodes_of(graph_)) visit(*node);
    for (size_t i = 0; i < graph_.outputs().size(); ++i)
      graph_.set_output(static_cast<int>(i), in_layout(graph_.outputs()[i], Layout::kRowMajor));
    return changed_;
  }

 private:
  LayoutPreference preference_of(const Node& node) const {
    if (options_.channel_gathers && is_channel_gather(node)) return LayoutPreference::kFollows;
    const LayoutPreference preference = layout_preference_of(node);
    if (preference != LayoutPreference::kRowMajor || !options_.strided_reductions)
      return preference;
    if (reduces_axes(node, true) && !is_read_in_rows(node)) return LayoutPreference::kFollows;
    const bool reduces = reduces_axes(node, true) || reduces_axes(node, false);
    return reduces && !node.is<Fused>() ? LayoutPreference::kAnyInput : preference;
  }

  void visit(Node& node) {
    if (node.is<Reformat>()) return;
    const LayoutPreference preference = preference_of(node);
    if (preference == LayoutPreference::kAnyInput) {
      if (brings_channels_back(node) && !is_read_in_rows(node)) {
        node.output()->type.layout = Layout::kChannelsLast;
        changed_ = true;
      }
      return;
    }
    const bool last =
        preference == LayoutPreference::kChannelsLast
            ? is_image(node.output())
            : preference == LayoutPreference::kFollows && follows(node) && !stays_in_rows(node);
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      Value* value = node.input(i);
      if (value == nullptr) continue;
      const bool image = last && is_activation(node, i);
      if (image && preference == LayoutPreference::kChannelsLast && is_stem(node, value)) continue;
      Value* wanted = in_layout(value, image ? Layout::kChannelsLast : Layout::kRowMajor);
      if (wanted != value) node.set_input(i, wanted);
    }
    if (!last) return;
    for (Value* output : node.outputs())
      if (is_image(output)) output->type.layout = Layout::kChannelsLast;
    // Values inside a region say so too: its kernel may store them, and the region may fall apart.
    if (node.is<Fused>())
      for (const auto& inner : node.bodies[0]->nodes())
        for (Value* output : inner->outputs())
          if (is_image(output) && output->type.shape.size() == node.output()->type.shape.size())
            output->type.layout = Layout::kChannelsLast;
    changed_ = true;
  }

  /// What casts, quantization and groups of scalar functions with constants made the value of.
  static const Value* before_conversions(const Value* value) {
    while (const Node* node = value->producer()) {
      const auto computed = [](const Value* input) {
        return input != nullptr && input->constant() == nullptr;
      };
      if (node->inputs().empty() || !computed(node->input(0)) ||
          std::count_if(node->inputs().begin(), node->inputs().end(), computed) != 1)
        break;
      const Node& anchor = *anchor_of(*node);
      if (!anchor.is<Cast>() && !anchor.is<Quantize>() && !anchor.is<Dequantize>() &&
          !anchor.is<DynamicQuantize>() && !(node->is<Fused>() && anchor.is<Pointwise>()))
        break;
      value = node->input(0);
    }
    return value;
  }

  /// A first convolution reads the model's row-major input itself, also behind conversions, where
  /// its channels (of colours, at most four) would leave most of a channels-last vector empty.
  static bool is_stem(const Node& node, const Value* value) {
    const Shape& shape = value->type.shape;
    value = before_conversions(value);
    return anchor_of(node)->is<Conv>() && value->producer() == nullptr && shape[1].is_constant() &&
           shape[1].constant() <= 4;
  }

  /// An operand of the output's rank that an image's layout concerns: not weights, biases or
  /// shapes.
  bool is_activation(const Node& node, int index) const {
    const Value* value = node.input(index);
    if (!is_image(value)) return false;
    if (value->type.shape.size() != node.output()->type.shape.size())
      return anchor_of(node)->is<Reduce>() && index == 0;  // Without kept axes.
    const Node& anchor = *anchor_of(node);
    if (node.is<Quantize>() || node.is<Dequantize>()) return index == 0;
    if (!node.is<Fused>()) return index == 0 || node.is<Pointwise>() || node.is<Concat>();
    if (anchor.is<Pointwise>() || anchor.is<Cast>() || anchor.is<Quantize>() ||
        anchor.is<Dequantize>())
      return true;
    const Value* inner = node.bodies[0]->inputs()[index];
    return std::none_of(inner->uses().begin(), inner->uses().end(),
                        [&](const Use& use) { return is_weight(use, anchor); });
  }

  /// An operand of the anchor but the first, as it is or dequantized.
  static bool is_weight(const Use& use, const Node& anchor) {
    if (use.node == &anchor || use.node->is<Conv>()) return use.index > 0;
    if (!use.node->is<Dequantize>()) return false;
    const auto uses = use.node->output()->uses();
    return std::any_of(uses.begin(), uses.end(),
                       [&](const Use& of) { return of.node == &anchor && of.index > 0; });
  }

  /// Reads fewer bytes than it writes, in either layout as fast: a conversion costs less ahead of
  /// it than behind.
  bool enlarges(const Node& node) const {
    const Node& anchor = *anchor_of(node);
    if (!anchor.is<Resize>() && !anchor.is<Pointwise>() && !anchor.is<Cast>()) return false;
    Dim more = 0;
    for (const Value* output : node.outputs()) more = more + bytes_of(*output);
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i)
      if (is_activation(node, i)) more = more - bytes_of(*node.input(i));
    return more.range(graph_.symbol_ranges).min > 0;
  }

  /// Nothing that reads the result takes it channels-last.
  bool is_read_in_rows(const Node& node) const {
    const auto takes_rows = [this](const Use& use) {
      const LayoutPreference preference = preference_of(*use.node);
      return preference == LayoutPreference::kRowMajor ||
             preference == LayoutPreference::kAnyInput ||
             (preference == LayoutPreference::kFollows && stays_in_rows(*use.node));
    };
    return std::ranges::all_of(node.outputs(), [&](const Value* output) {
      return std::ranges::all_of(output->uses(), takes_rows);
    });
  }

  /// Its operands are converted rather than its result.
  bool stays_in_rows(const Node& node) const { return enlarges(node) && is_read_in_rows(node); }

  bool follows(const Node& node) const {
    for (int i = 0; i < static_cast<int>(node.inputs().size()); ++i) {
      const Value* value = node.input(i);
      if (value != nullptr && value->type.layout == Layout::kChannelsLast && is_activation(node, i))
        return true;
    }
    return false;
  }

  /// The value in that layout: itself, or the output of a reformat (one for all users: a value has
  /// one layout of two, and needs the other one at most).
  Value* in_layout(Value* value, Layout layout) {
    if (value->type.layout == layout) return value;
    if (value->type.shape.size() < 3) return value;
    if (value->constant() != nullptr && layouts_agree(value->type.shape)) return value;
    Value*& result = reformatted_[value];
    if (result != nullptr) return result;
    Node* node = graph_.add_node(std::make_unique<Reformat>(), {value}, 1,
                                 "reformat(" + (value->name.empty() ? "value" : value->name) + ")");
    if (value->producer() != nullptr) node->origins = value->producer()->origins;
    node->output()->type = value->type;
    node->output()->type.layout = layout;
    node->output()->name = value->name;
    changed_ = true;
    return result = node->output();
  }

  Graph& graph_;
  const PassOptions& options_;
  std::map<Value*, Value*> reformatted_;
  bool changed_ = false;
};

}  // namespace

bool choose_layouts(Graph& graph, PassContext& context) {
  return LayoutChooser(graph, context.options()).run();
}

}  // namespace tenon
