#include "ops/verifier.h"

#include <fmt/format.h>

#include <set>
#include <unordered_set>

#include "ops/ops.h"
#include "ops/table.h"

namespace tenon {
namespace {

class Verifier {
 public:
  explicit Verifier(const Graph& graph) : graph_(graph) {}

  Status run() {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      const Value* input = graph_.inputs()[i];
      if (input->producer() != nullptr || input->index() != static_cast<int>(i))
        return fail(fmt::format("input {} is not one", i));
      TENON_TRY(define(*input, "the graph's inputs"));
    }
    for (const auto& node : graph_.nodes()) TENON_TRY(check(*node));
    for (const Value* output : graph_.outputs())
      if (output == nullptr || !defined_.contains(output))
        return fail("an output is not a value of the graph");
    return check_uses();
  }

 private:
  Error fail(std::string_view what) const {
    return internal_error("graph \"{}\": {}", graph_.name, what);
  }
  Error fail(const Node& node, std::string_view what) const {
    return fail(fmt::format("node \"{}\" ({}): {}", node.name, node.op->name(), what));
  }

  Status define(const Value& value, std::string_view where) {
    for (const Dim& extent : value.type.shape)
      if (extent.is_constant() && extent.constant() < 0)
        return fail(fmt::format("{}: the shape {} of \"{}\" has a negative extent", where,
                                to_string(value.type.shape), value.name));
    defined_.insert(&value);
    return {};
  }

  Status check(const Node& node) {
    if (&node.graph() != &graph_) return fail(node, "belongs to another graph");
    TENON_TRY(check_counts(node));
    for (size_t i = 0; i < node.inputs().size(); ++i) {
      const Value* input = node.inputs()[i];
      if (input == nullptr) continue;
      if (!defined_.contains(input))
        return fail(node, fmt::format("input {} is not defined before it in this graph", i));
      uses_.emplace(input, &node, static_cast<int>(i));
    }
    for (size_t i = 0; i < node.outputs().size(); ++i) {
      const Value* output = node.outputs()[i];
      if (output->producer() != &node || output->index() != static_cast<int>(i))
        return fail(node, fmt::format("output {} does not know its producer", i));
      TENON_TRY(define(*output, fmt::format("node \"{}\"", node.name)));
    }
    for (const auto& body : node.bodies)
      if (const Status status = verify(*body); !status.ok())
        return Error(status.error()).with_context(fmt::format("in node \"{}\"", node.name));
    return {};
  }

  Status check_counts(const Node& node) const {
    const OpInfo& info = op_info(node.kind());
    const auto within = [](size_t count, int min, int max) {
      return static_cast<int>(count) >= min && (max < 0 || static_cast<int>(count) <= max);
    };
    if (!within(node.inputs().size(), info.min_inputs, info.max_inputs))
      return fail(node, fmt::format("{} inputs", node.inputs().size()));
    if (!within(node.outputs().size(), info.min_outputs, info.max_outputs))
      return fail(node, fmt::format("{} outputs", node.outputs().size()));
    const size_t bodies = node.is<If>() ? 2 : 1;
    const bool has_bodies = node.is<If>() || node.is<Loop>() || node.is<Scan>() || node.is<Fused>();
    if (node.bodies.size() != (has_bodies ? bodies : 0))
      return fail(node, fmt::format("{} bodies", node.bodies.size()));
    return {};
  }

  /// Every use that a value lists is an operand, and as many are listed as there are.
  Status check_uses() const {
    size_t listed = 0;
    for (const Value* value : defined_) {
      listed += value->uses().size();
      for (const Use& use : value->uses())
        if (!uses_.contains({value, use.node, use.index}))
          return fail(fmt::format("the value \"{}\" lists a use that is none", value->name));
    }
    if (listed != uses_.size())
      return fail("an operand is missing in the list of its value's uses");
    return {};
  }

  const Graph& graph_;
  std::unordered_set<const Value*> defined_;
  std::set<std::tuple<const Value*, const Node*, int>> uses_;
};

}  // namespace

Status verify(const Graph& graph) {
  return Verifier(graph).run();
}

}  // namespace tenon
