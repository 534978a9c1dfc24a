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
      const bool joins = op.role == PlacedRole::kPointwise && op.inputs.size() == 1;
      if (!joins || uses_.at(op.inputs[0]) != 1) return -1;
      tensor = op.inputs[0];
    }
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

}  // namespace tenon
