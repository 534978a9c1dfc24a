// Tree ensembles as matrix products: all decisions of all trees at once, then the leaves whose path
// agrees with them.
#include <algorithm>
#include <cmath>
#include <limits>

#include "onnx/graph_importer.h"
#include "onnx/op_table.h"

namespace tenon::importer {
namespace {

enum Mode { kLessEqual, kLess, kGreaterEqual, kGreater, kEqual, kNotEqual, kMember, kModes };

struct Trees {
  std::vector<int64_t> features, true_nodes, false_nodes, true_leafs, false_leafs, roots, targets;
  std::vector<int64_t> modes;
  Tensor splits, weights;
  std::vector<std::vector<double>> members;  ///< Of each node; empty but for kMember.
};

bool within(const std::vector<int64_t>& values, int64_t end) {
  return std::all_of(values.begin(), values.end(),
                     [end](int64_t value) { return value >= 0 && value < end; });
}

/// Sets of values are one list, each ended by a NaN.
void read_members(NodeImporter& n, Trees& trees) {
  trees.members.resize(trees.modes.size());
  if (!n.has("membership_values")) return;
  const Tensor values = n.tensor("membership_values");
  int64_t at = 0;
  for (size_t node = 0; node < trees.modes.size(); ++node) {
    if (trees.modes[node] != kMember) continue;
    for (; at < values.count() && !std::isnan(values.as_double(at)); ++at)
      trees.members[node].push_back(values.as_double(at));
    ++at;
  }
}

std::optional<Trees> read_trees(NodeImporter& n) {
  Trees trees;
  trees.features = n.integer_list("nodes_featureids");
  trees.true_nodes = n.integer_list("nodes_truenodeids");
  trees.false_nodes = n.integer_list("nodes_falsenodeids");
  trees.true_leafs = n.integer_list("nodes_trueleafs");
  trees.false_leafs = n.integer_list("nodes_falseleafs");
  trees.roots = n.integer_list("tree_roots");
  trees.targets = n.integer_list("leaf_targetids");
  trees.splits = n.tensor("nodes_splits");
  trees.weights = n.tensor("leaf_weights");
  const Tensor modes = n.tensor("nodes_modes");
  if (!n.ok()) return std::nullopt;
  trees.modes = modes.to_int64s();
  const size_t nodes = trees.features.size();
  bool sound = trees.splits.count() == static_cast<int64_t>(nodes) && within(trees.modes, kModes) &&
               trees.weights.count() == static_cast<int64_t>(trees.targets.size()) &&
               within(trees.features, INT32_MAX) && !trees.targets.empty() &&
               within(trees.roots, static_cast<int64_t>(nodes)) && !trees.roots.empty();
  for (const auto* list :
       {&trees.true_nodes, &trees.false_nodes, &trees.true_leafs, &trees.false_leafs, &trees.modes})
    sound = sound && list->size() == nodes;
  if (!sound) {
    n.fail(ImportCode::kInvalidNode, "the lists of nodes and leaves do not fit together");
    return std::nullopt;
  }
  read_members(n, trees);
  return trees;
}

/// For each leaf the decisions on its path: +1 where it must be true, -1 where false.
class Paths {
 public:
  Paths(const Trees& trees, DataType type)
      : trees_(trees),
        nodes_(static_cast<int64_t>(trees.features.size())),
        leaves_(static_cast<int64_t>(trees.targets.size())),
        signs_(type, {nodes_, leaves_}),
        trues_(type, {1, leaves_}) {
    for (int64_t i = 0; i < signs_.count(); ++i) signs_.set_from_double(i, 0);
    // No decisions give this number: leaves that no tree reaches stay out.
    for (int64_t i = 0; i < leaves_; ++i) trues_.set_from_double(i, -1);
  }

  /// False where nodes are shared or out of range.
  bool walk() {
    for (const int64_t root : trees_.roots)
      if (!walk(root, false)) return false;
    return true;
  }
  const Tensor& signs() const { return signs_; }
  /// How many decisions of a leaf's path must be true.
  const Tensor& trues() const { return trues_; }

 private:
  static constexpr size_t kDeepest = 1000;
  struct Step {
    int64_t node;
    double sign;
  };

  bool walk(int64_t at, bool is_leaf) {
    if (is_leaf) return reach(at);
    if (at < 0 || at >= nodes_ || ++visits_ > nodes_ || path_.size() == kDeepest) return false;
    const auto node = static_cast<size_t>(at);
    path_.push_back({at, 1});
    bool sound = walk(trees_.true_nodes[node], trees_.true_leafs[node] != 0);
    path_.back().sign = -1;
    sound = sound && walk(trees_.false_nodes[node], trees_.false_leafs[node] != 0);
    path_.pop_back();
    return sound;
  }

  bool reach(int64_t leaf) {
    if (leaf < 0 || leaf >= leaves_ || trues_.as_double(leaf) >= 0) return false;
    double trues = 0;
    for (const Step& step : path_) {
      signs_.set_from_double(step.node * leaves_ + leaf, step.sign);
      trues += step.sign > 0 ? 1 : 0;
    }
    trues_.set_from_double(leaf, trues);
    return true;
  }

  const Trees& trees_;
  int64_t nodes_, leaves_, visits_ = 0;
  Tensor signs_, trues_;
  std::vector<Step> path_;
};

/// [rows, nodes]: whether each feature is one of the node's values.
Value* membership(NodeImporter& n, const Trees& trees, Value* features) {
  size_t most = 1;
  for (const auto& values : trees.members) most = std::max(most, values.size());
  const auto nodes = static_cast<int64_t>(trees.modes.size());
  Tensor table(n.type(features), {1, nodes, static_cast<int64_t>(most)});
  for (int64_t i = 0; i < table.count(); ++i) {
    const auto& values = trees.members[static_cast<size_t>(i) / most];
    const size_t at = static_cast<size_t>(i) % most;
    table.set_from_double(
        i, at < values.size() ? values[at] : std::numeric_limits<double>::quiet_NaN());
  }
  Value* same = n.equal(n.unsqueeze(features, {2}), n.constant(std::move(table)));
  Value* count = n.reduce(ReduceFunction::kMax, n.cast(same, n.type(features)), {2}, false);
  return n.pointwise(PointwiseFunction::k_greater, {count, n.number(0, n.type(features))});
}

Value* decisions_of(NodeImporter& n, const Trees& trees, Value* features, Mode mode) {
  Value* splits = n.constant(trees.splits.reshaped({1, trees.splits.count()}));
  splits = n.cast(splits, n.type(features));
  switch (mode) {
    case kLessEqual: return n.pointwise(PointwiseFunction::k_less_equal, {features, splits});
    case kLess: return n.pointwise(PointwiseFunction::k_less, {features, splits});
    case kGreaterEqual: return n.pointwise(PointwiseFunction::k_greater_equal, {features, splits});
    case kGreater: return n.pointwise(PointwiseFunction::k_greater, {features, splits});
    case kEqual: return n.equal(features, splits);
    case kNotEqual: return n.pointwise(PointwiseFunction::k_not, {n.equal(features, splits)});
    default: return membership(n, trees, features);
  }
}

/// [rows, nodes]: whether each node's test holds; nodes of one mode at a time.
Value* decisions(NodeImporter& n, const Trees& trees, Value* features) {
  Value* result = nullptr;
  const auto nodes = static_cast<int64_t>(trees.modes.size());
  for (int mode = 0; mode < kModes; ++mode) {
    Tensor mask(DataType::kBool, {1, nodes});
    bool any = false;
    for (int64_t i = 0; i < nodes; ++i) {
      const bool is_mode = trees.modes[static_cast<size_t>(i)] == mode;
      mask.set_from_int64(i, is_mode ? 1 : 0);
      any = any || is_mode;
    }
    if (!any) continue;
    Value* of_mode = decisions_of(n, trees, features, static_cast<Mode>(mode));
    result = result ? n.where(n.constant(std::move(mask)), of_mode, result) : of_mode;
  }
  return result;
}

Value* transformed(NodeImporter& n, Value* scores) {
  const int64_t transform = n.integer_attribute("post_transform", 0);
  if (transform == 0) return scores;
  if (transform == 1) return n.add(Softmax{}, {scores});
  if (transform == 2) return n.pointwise(PointwiseFunction::k_sigmoid, {scores});
  n.fail(ImportCode::kUnsupportedNodeAttr, "post_transform must be NONE, SOFTMAX or LOGISTIC");
  return nullptr;
}

}  // namespace

void import_tree_ensemble(NodeImporter& n, const OpRow&) {
  const std::optional<Trees> trees = read_trees(n);
  const int64_t targets = n.integer_attribute("n_targets", 1);
  const int64_t aggregate = n.integer_attribute("aggregate_function", 1);
  if (!trees) return;
  if (aggregate != 0 && aggregate != 1)
    return n.fail(ImportCode::kUnsupportedNodeAttr, "aggregate_function must be AVERAGE or SUM");
  if (targets < 1 || targets > 1'000'000 || !within(trees->targets, targets))
    return n.fail(ImportCode::kInvalidNode, "leaf_targetids are outside n_targets");
  Value* x = n.input(0);
  const DataType type = n.type(x);
  constexpr int64_t kMostElements = int64_t{1} << 26;
  if (trees->weights.count() > kMostElements / std::max<int64_t>(trees->splits.count(), targets))
    return n.fail(ImportCode::kUnsupportedNode, "the ensemble has too many nodes");
  Paths paths(*trees, type);
  if (!paths.walk())
    return n.fail(ImportCode::kInvalidNode,
                  "the nodes do not form trees (or one more than 1000 deep)");

  Value* ids = n.integers(trees->features);
  Gather columns;
  columns.axis = 1;
  Value* holds = n.cast(decisions(n, *trees, n.add(columns, {x, ids})), type);
  // The products with +1 and -1 reach the number of trues only on the path itself.
  Value* reached = n.equal(n.matmul(holds, n.constant(paths.signs())), n.constant(paths.trues()));
  const auto leaves = static_cast<int64_t>(trees->targets.size());
  Tensor weights(type, {leaves, targets});
  const double scale = aggregate == 0 ? 1.0 / static_cast<double>(trees->roots.size()) : 1.0;
  for (int64_t i = 0; i < weights.count(); ++i) weights.set_from_double(i, 0);
  for (int64_t i = 0; i < leaves; ++i)
    weights.set_from_double(i * targets + trees->targets[static_cast<size_t>(i)],
                            trees->weights.as_double(i) * scale);
  n.output(transformed(n, n.matmul(n.cast(reached, type), n.constant(std::move(weights)))));
}

}  // namespace tenon::importer
