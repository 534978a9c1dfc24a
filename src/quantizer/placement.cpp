#include "quantizer/placement.h"

#include <map>
#include <set>

namespace tenon {
namespace {

class Placement {
 public:
  explicit Placement(const std::vector<PlacedOp>& ops) : ops_(ops) {
    for (int i = 0; i < count(); ++i) {
      for (const int tensor : ops[i].outputs) producer_[tensor] = i;
      for (const int tensor : ops[i].inputs) ++uses_[tensor];
      if (ops[i].role == PlacedRole::kProduct) quantized_.insert(ops[i].inputs[0]);
    }
  }

  std::vector<PlacedPair> run() {
    std::vector<PlacedPair> pairs;
    for (int i = 0; i < count(); ++i) {
      if (ops_[i].role == PlacedRole::kProduct) pairs.push_back({i, 0});
      if (ops_[i].role == PlacedRole::kSum) add_residual(i, pairs);
    }
    return pairs;
  }

 private:
  int count() const { return static_cast<int>(ops_.size()); }

  /// The product whose result reaches the tensor over operators that join it; -1: none.
  int product_before(int tensor) const {
    while (true) {
      const auto found = producer_.find(tensor);
      if (found == producer_.end()) return -1;
      const PlacedOp& op = ops_[found->second];
      if (op.role == PlacedRole::kProduct) return found->second;
      tensor = op.role == PlacedRole::kPointwise ? root_of(op) : -1;
    }
  }

  /// The tensor that all operands of a scalar function come from, which nothing else reads: x of
  /// f(x), and of x * f(x); -1: there is none.
  int root_of(const PlacedOp& op) const {
    if (op.inputs.size() == 1) return uses_.at(op.inputs[0]) == 1 ? op.inputs[0] : -1;
    for (const int k : {0, 1}) {
      if (op.inputs.size() != 2) break;
      const int whole = op.inputs[k], part = op.inputs[1 - k];
      const auto found = producer_.find(part);
      if (found == producer_.end() || uses_.at(whole) != 2 || uses_.at(part) != 1) continue;
      const PlacedOp& before = ops_[found->second];
      if (before.role == PlacedRole::kPointwise && before.inputs == std::vector<int>{whole})
        return whole;
    }
    return -1;
  }

  /// The later product takes the sum, as the pass that makes regions does.
  void add_residual(int sum, std::vector<PlacedPair>& pairs) const {
    const std::vector<int>& operands = ops_[sum].inputs;
    if (operands.size() != 2 || operands[0] == operands[1]) return;
    int products[2];
    for (int k = 0; k < 2; ++k)
      products[k] = uses_.at(operands[k]) == 1 ? product_before(operands[k]) : -1;
    if (products[0] < 0 && products[1] < 0) return;
    const int other = products[0] > products[1] ? 1 : 0;
    if (products[other] >= 0 || quantized_.contains(operands[other])) pairs.push_back({sum, other});
  }

  const std::vector<PlacedOp>& ops_;
  std::map<int, int> producer_, uses_;
  std::set<int> quantized_;  ///< Tensors that products read.
};

}  // namespace

std::vector<PlacedPair> place_quantization(const std::vector<PlacedOp>& ops) {
  return Placement(ops).run();
}

std::vector<std::vector<int>> moved_together(const std::vector<PlacedOp>& ops) {
  std::map<int, int> parents;
  const auto root = [&](int tensor) {
    while (parents.try_emplace(tensor, tensor).first->second != tensor) tensor = parents[tensor];
    return tensor;
  };
  for (const PlacedOp& op : ops) {
    if (op.role != PlacedRole::kMove || op.inputs.empty()) continue;
    for (const auto* tensors : {&op.inputs, &op.outputs})
      for (const int tensor : *tensors) parents[root(tensor)] = root(op.inputs[0]);
  }
  std::map<int, std::vector<int>> sets;
  for (const auto& [tensor, parent] : parents) sets[root(parent)].push_back(tensor);
  std::vector<std::vector<int>> found;
  for (auto& [number, tensors] : sets) found.push_back(std::move(tensors));
  return found;
}

}  // namespace tenon
