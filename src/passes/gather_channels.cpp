// A reshape that parts the channels of an image, a transpose of the parts and a reshape that joins
// them (a channel shuffle) are one gather of channels, which reads and gives channels-last images.
// Slices and splits of its result gather their own channels, each to its place. Only where the
// device has a kernel for it. Must run after straighten_transposes and before choose_layouts.
#include <algorithm>
#include <numeric>

#include "ops/table.h"
#include "passes/match.h"
#include "passes/pass.h"

namespace tenon {
namespace {

constexpr int64_t kChannels = 1;

/// The nodes of a shuffle, first to last.
struct Shuffle {
  Node *parting, *transpose, *joining;
};

/// The parts of the channel axis alone are several axes of `parted`: the number of them, else 0.
int64_t parts_of_channels(const Shape& parted, const Shape& image) {
  const auto groups = joined_axes(parted, image);
  if (!groups.has_value() || image.size() < 3) return 0;
  for (size_t axis = 0; axis < groups->size(); ++axis)
    if (axis != kChannels && (*groups)[axis].size() != 1) return 0;
  return (*groups)[0] == std::vector<int64_t>{0} ? static_cast<int64_t>((*groups)[1].size()) : 0;
}

/// The channels in their new order; nothing where more than the channels move.
std::optional<Tensor> shuffled(const Shuffle& s) {
  const Shape &image = s.parting->input(0)->type.shape, &parted = s.parting->output()->type.shape;
  if (s.joining->output()->type.shape != image) return std::nullopt;
  const int64_t parts = parts_of_channels(parted, image);
  if (parts < 2) return std::nullopt;
  const auto& permutation = s.transpose->as<Transpose>()->permutation;
  Extents extents(parted.size(), 1);
  for (int64_t axis = 0; axis < static_cast<int64_t>(permutation.size()); ++axis) {
    if (axis < kChannels || axis >= kChannels + parts) {
      if (permutation[axis] != axis) return std::nullopt;
    } else if (!parted[axis].is_constant()) {
      return std::nullopt;
    } else {
      extents[axis] = parted[axis].constant();
    }
  }
  Tensor numbers(DataType::kInt64, extents);
  const auto values = numbers.mutable_values<int64_t>();
  std::iota(values.begin(), values.end(), 0);
  const Tensor* const operands[] = {&numbers};
  auto moved = evaluate_node(*s.transpose, operands);
  if (!moved.ok()) return std::nullopt;
  return (*moved)[0].reshaped({numbers.count()});
}

Value* add_gather(Graph& graph, const Shuffle& s, const Tensor& channels, const Node& like) {
  auto gather = std::make_unique<Gather>();
  gather->axis = kChannels;
  Value* image = s.parting->input(0);
  Value* result = add_op(graph, std::move(gather), {image, graph.add_constant(channels)}, like);
  for (const Node* node : {s.parting, s.transpose, s.joining})
    add_origins(*result->producer(), *node);
  return result;
}

/// What a slice or a split does to the channels, once for each output; nothing where it moves
/// others.
std::vector<Tensor> chosen(const Node& node, const Tensor& channels) {
  if (!node.is<Slice>() && !node.is<Split>()) return {};
  const Shape& image = node.input(0)->type.shape;
  std::vector<const Tensor*> operands(node.inputs().size(), nullptr);
  for (size_t i = 1; i < node.inputs().size(); ++i)
    if (node.inputs()[i] != nullptr && (operands[i] = node.inputs()[i]->constant()) == nullptr)
      return {};
  for (const Value* output : node.outputs())
    for (size_t axis = 0; axis < image.size(); ++axis)
      if (axis != kChannels && output->type.shape[axis] != image[axis]) return {};
  Extents extents(image.size(), 1);
  extents[kChannels] = channels.count();
  const Tensor all = channels.reshaped(extents);
  operands[0] = &all;
  auto results = evaluate_node(node, operands);
  if (!results.ok()) return {};
  for (size_t i = 0; i < results->size(); ++i) {
    Tensor& result = (*results)[i];
    result = result.reshaped({result.count()});
    if (node.outputs()[i]->type.shape[kChannels] != Dim(result.count())) return {};
  }
  return std::move(*results);
}

/// Lets the users of a shuffle gather for themselves, where they all choose among its channels.
bool share_out(Graph& graph, const Shuffle& s, const Tensor& channels) {
  std::vector<std::pair<Node*, std::vector<Tensor>>> users;
  if (graph.is_output(s.joining->output())) return false;
  for (const Use& use : s.joining->output()->uses()) {
    users.emplace_back(use.node, chosen(*use.node, channels));
    if (users.back().second.empty()) return false;
  }
  for (const auto& [user, parts] : users)
    for (size_t i = 0; i < parts.size(); ++i) {
      Value* output = user->outputs()[i];
      Value* part = add_gather(graph, s, parts[i], *user);
      part->name = output->name;
      graph.replace_uses(output, part);
    }
  return !users.empty();
}

bool rewrite(Graph& graph, PassContext& context, Node& joining) {
  if (!is_reshape(&joining)) return false;
  Node* transpose = joining.input(0)->producer();
  if (transpose == nullptr || !transpose->is<Transpose>() || !context.allows(*transpose))
    return false;
  const Shuffle shuffle{transpose->input(0)->producer(), transpose, &joining};
  const auto channels = is_reshape(shuffle.parting) ? shuffled(shuffle) : std::nullopt;
  if (!channels.has_value()) return false;
  context.applied(joining.name);
  if (!share_out(graph, shuffle, *channels))
    stand_in(graph, joining, add_gather(graph, shuffle, *channels, joining));
  return true;
}

}  // namespace

bool gather_channels(Graph& graph, PassContext& context) {
  return for_each_allowed(graph, context,
                          [&](Node& node) { return rewrite(graph, context, node); });
}

}  // namespace tenon
