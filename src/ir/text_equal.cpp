#include <algorithm>
#include <map>
#include <unordered_map>

#include "ir/attribute_text.h"
#include "ir/text.h"

namespace tenon {
namespace {

bool equal(const Op& a, const Op& b) {
  if (a.kind() != b.kind() || a.name() != b.name()) return false;
  if (tensor_attributes(a) != tensor_attributes(b)) return false;
  // Constants' texts would hash their bytes once more.
  return a.constant_value() != nullptr || attribute_texts(a) == attribute_texts(b);
}

/// Values of both graphs at the same places.
class Pairs {
 public:
  bool add(const Value* a, const Value* b) {
    twins_.emplace(a, b);
    return a->name == b->name && a->type == b->type;
  }
  bool match(const Value* a, const Value* b) const {
    if (a == nullptr || b == nullptr) return a == b;
    const auto found = twins_.find(a);
    return found != twins_.end() && found->second == b;
  }
  bool add_all(const std::vector<Value*>& a, const std::vector<Value*>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [this](const Value* x, const Value* y) { return add(x, y); });
  }
  bool match_all(const std::vector<Value*>& a, const std::vector<Value*>& b) const {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [this](const Value* x, const Value* y) { return match(x, y); });
  }

 private:
  std::unordered_map<const Value*, const Value*> twins_;
};

bool equal(const Node& a, const Node& b, Pairs& pairs) {
  return a.name == b.name && a.origins == b.origins && a.tactic == b.tactic &&
         equal(*a.op, *b.op) && pairs.match_all(a.inputs(), b.inputs()) &&
         pairs.add_all(a.outputs(), b.outputs()) &&
         std::equal(a.bodies.begin(), a.bodies.end(), b.bodies.begin(), b.bodies.end(),
                    [](const auto& x, const auto& y) { return tenon::equal(*x, *y); });
}

void collect(const Graph& graph, std::map<std::string, Tensor, std::less<>>& tensors) {
  for (const auto& node : graph.nodes()) {
    for (Tensor& tensor : tensor_attributes(*node->op))
      if (tensor.defined() && tensor.count() > kMaxWrittenElements)
        tensors.emplace(tensor.content_hash(), std::move(tensor));
    for (const auto& body : node->bodies) collect(*body, tensors);
  }
}

class GraphWeights final : public WeightSource {
 public:
  explicit GraphWeights(const Graph& graph) { collect(graph, tensors_); }

  Result<Tensor> find(std::string_view content_hash) const override {
    const auto found = tensors_.find(content_hash);
    if (found == tensors_.end()) return user_error("no constant has the hash {}", content_hash);
    return found->second;
  }

 private:
  std::map<std::string, Tensor, std::less<>> tensors_;
};

}  // namespace

std::unique_ptr<WeightSource> weights_of(const Graph& graph) {
  return std::make_unique<GraphWeights>(graph);
}

bool equal(const Graph& a, const Graph& b) {
  Pairs pairs;
  return a.name == b.name && a.symbol_ranges == b.symbol_ranges &&
         pairs.add_all(a.inputs(), b.inputs()) &&
         std::equal(a.nodes().begin(), a.nodes().end(), b.nodes().begin(), b.nodes().end(),
                    [&](const auto& x, const auto& y) { return equal(*x, *y, pairs); }) &&
         pairs.match_all(a.outputs(), b.outputs());
}

}  // namespace tenon
