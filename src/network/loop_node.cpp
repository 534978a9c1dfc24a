#include "network/loop_node.h"

#include <fmt/format.h>

#include <algorithm>

#include "network/emitter.h"
#include "network/loop.h"
#include "network/region.h"
#include "ops/ops.h"
#include "ops/table.h"

namespace tenon::network {
namespace {

/// The parts of a loop in the graph that is being finished.
class LoopAssembly {
 public:
  LoopAssembly(Graph& graph, const LoopHandle& loop, ValueMap& map)
      : graph_(graph),
        loop_(loop),
        map_(map),
        outside_(graph, folded_, loop.getName()),
        inside_(body_.graph(), folded_inside_, loop.getName()) {}

  Status run() {
    TENON_TRY(check());
    find_nodes();
    build_body();
    if (!inside_.ok()) return inside_.error();
    add_node();
    for (size_t i = 0; i < loop_.outputs.size(); ++i) take_output(i);
    return outside_.ok() ? Status() : Status(outside_.error());
  }

 private:
  Value* at(const TensorHandle* handle) const { return map_.at(handle->value()); }
  Value* at(const LayerCore& layer, size_t operand) const { return at(layer.operands()[operand]); }
  Value* stand_in(const LayerCore& layer) const { return at(layer.results()[0]); }

  Status check() const {
    const auto fail = [&](std::string_view what) {
      return user_error("loop '{}': {}", loop_.getName(), what);
    };
    if (loop_.count == nullptr && loop_.condition == nullptr) return fail("it has no trip limit");
    for (const auto* recurrence : loop_.recurrences)
      if (recurrence->operand_count() < 2)
        return fail(fmt::format("recurrence '{}' has no next value: set it by setInput(1)",
                                recurrence->name()));
    for (const auto* output : loop_.outputs)
      if (is_last(*output) && carried_index(at(*output, 0)) < 0)
        return fail(fmt::format("the last value of '{}' can be taken of recurrences only",
                                output->operands()[0]->getName()));
    return {};
  }
  static bool is_last(const LoopOutputLayer& output) {
    return output.getLoopOutput() == nvinfer1::LoopOutput::kLAST_VALUE;
  }
  int carried_index(const Value* value) const {
    for (size_t i = 0; i < loop_.recurrences.size(); ++i)
      if (stand_in(*loop_.recurrences[i]) == value) return static_cast<int>(i);
    return -1;
  }

  void find_nodes() {
    for (const auto* recurrence : loop_.recurrences) {
      entries_.push_back(stand_in(*recurrence));
      exits_.push_back(at(*recurrence, 1));
    }
    for (const auto* iterator : loop_.iterators) entries_.push_back(stand_in(*iterator));
    for (const auto* output : loop_.outputs) exits_.push_back(at(*output, 0));
    nodes_ = nodes_between(graph_, entries_, exits_, true);
    if (loop_.condition != nullptr)
      condition_nodes_ = nodes_between(graph_, entries_, {at(*loop_.condition, 0)}, false);
  }

  void build_body() {
    Value* number = body_.add_input("iteration", {DataType::kInt64, {}});
    Value* going = body_.add_input("going", {DataType::kBool, {}});
    for (const auto* recurrence : loop_.recurrences) {
      const Value* outer = stand_in(*recurrence);
      body_.bind(outer, body_.add_input(recurrence->name(), outer->type));
    }
    for (const auto* iterator : loop_.iterators) bind_iterator(*iterator, number);
    body_.copy(nodes_);
    body_.add_output(condition(going));
    for (const auto* recurrence : loop_.recurrences) body_.add_output(next_of(*recurrence));
    for (const auto* output : loop_.outputs)
      if (!is_last(*output)) body_.add_output(body_.inner(at(*output, 0)));
  }

  /// The surface's rule is that a next value has the extents of the first one. It is told where
  /// these are of several inputs, so that extents behind the loop are known before it runs.
  Value* next_of(const RecurrenceLayer& recurrence) {
    Value* next = body_.inner(at(recurrence, 1));
    Value* carried = body_.inner(stand_in(recurrence));
    const Shape &from = carried->type.shape, &to = next->type.shape;
    bool differs = false;
    for (size_t i = 0; i < from.size() && from.size() == to.size(); ++i) {
      if (from[i] == to[i]) continue;
      if (!is_of_input(from[i]) || !is_of_input(to[i])) return next;
      differs = true;
    }
    return differs ? inside_.reshape_as(next, carried) : next;
  }
  bool is_of_input(const Dim& extent) const {
    const auto symbol = extent.as_symbol();
    return symbol && std::ranges::any_of(graph_.inputs(), [&](const auto& input) {
             return std::ranges::find(input->type.shape, extent) != input->type.shape.end();
           });
  }

  void bind_iterator(const IteratorLayer& iterator, Value* number) {
    Value* x = body_.inner(at(iterator, 0));
    const int64_t axis = inside_.normalized(iterator.getAxis(), inside_.rank(x));
    Value* index = number;
    if (iterator.getReverse()) {
      Value* extent = inside_.squeeze(inside_.slice(inside_.shape_of(x), 0, axis, axis + 1), {0});
      index = inside_.sub(inside_.sub(extent, inside_.integer(1)), number);
    }
    Gather op;
    op.axis = axis;
    Value* slice = inside_.add(op, {x, index});
    if (slice != nullptr) body_.bind(stand_in(iterator), slice);
  }

  /// Whether there is another iteration: the surface's condition is looked at before each one, the
  /// operator's after it.
  Value* condition(Value* going) {
    if (loop_.condition == nullptr) return going;
    std::map<const Value*, Value*> next;
    for (const auto* recurrence : loop_.recurrences)
      next[stand_in(*recurrence)] = body_.inner(at(*recurrence, 1));
    for (const auto* iterator : loop_.iterators)
      for (const Node* node : condition_nodes_)
        for (const Value* input : node->inputs())
          if (input == stand_in(*iterator))
            inside_.fail(
                unsupported("loop '{}': its condition depends on an iterator", loop_.getName()));
    Value* value = body_.recompute(condition_nodes_, std::move(next), at(*loop_.condition, 0));
    return scalar(inside_, value);
  }
  static Value* scalar(Emitter& e, Value* value) {
    return e.rank(value) == 0 ? value : e.reshape(value, {});
  }

  Value* first_condition() {
    if (loop_.condition == nullptr) return nullptr;
    std::map<const Value*, Value*> first;
    for (const auto* recurrence : loop_.recurrences)
      first[stand_in(*recurrence)] = at(*recurrence, 0);
    const auto value_of = [&](Value* value) {
      const auto found = first.find(value);
      return found == first.end() ? value : found->second;
    };
    for (const Node* node : condition_nodes_) {
      std::vector<Value*> inputs;
      for (Value* input : node->inputs()) inputs.push_back(value_of(input));
      Node* copied = copy_node(graph_, *node, std::move(inputs));
      copied->name += ".first";
      for (size_t i = 0; i < node->outputs().size(); ++i)
        first[node->outputs()[i]] = copied->output(static_cast<int>(i));
    }
    return scalar(outside_, value_of(at(*loop_.condition, 0)));
  }

  void add_node() {
    Loop op;
    op.carried = static_cast<int64_t>(loop_.recurrences.size());
    std::vector<Value*> inputs(2, nullptr);
    if (loop_.count != nullptr)
      inputs[0] = scalar(outside_, outside_.cast(at(*loop_.count, 0), DataType::kInt64));
    inputs[1] = first_condition();
    for (const auto* recurrence : loop_.recurrences) inputs.push_back(at(*recurrence, 0));
    inputs.insert(inputs.end(), body_.captures().begin(), body_.captures().end());
    const int outputs = static_cast<int>(body_.graph().outputs().size()) - 1;
    node_ = graph_.add_node(std::make_unique<Loop>(op), std::move(inputs), outputs);
    node_->name = *loop_.getName() == '\0' ? "loop" : loop_.getName();
    for (const auto* recurrence : loop_.recurrences) node_->origins.push_back(recurrence->name());
    node_->bodies.push_back(body_.finish());
    if (Status status = infer_node(*node_); !status.ok()) outside_.fail(status.error());
  }

  void take_output(size_t index) {
    const LoopOutputLayer& output = *loop_.outputs[index];
    Value* value = nullptr;
    if (is_last(output))
      value = node_->output(carried_index(at(output, 0)));
    else
      value =
          joined(output, node_->output(static_cast<int>(loop_.recurrences.size()) + stacked_++));
    if (outside_.ok()) take_place(graph_, map_, stand_in(output), value);
  }

  /// The operator stacks along axis 0, as many as there were iterations; the surface along any, to
  /// a given number.
  Value* joined(const LoopOutputLayer& output, Value* stack) {
    const bool reverse = output.getLoopOutput() == nvinfer1::LoopOutput::kREVERSE;
    if (reverse) stack = outside_.slice(stack, 0, -1, INT64_MIN / 2, -1);
    Value* length = at(output, 1);
    const bool exact = loop_.condition == nullptr && length == at(*loop_.count, 0);
    if (!exact) stack = padded(stack, length, reverse);
    const int64_t axis = output.getAxis();
    if (axis == 0) return stack;
    std::vector<int64_t> order;
    for (int64_t i = 1; i < outside_.rank(stack); ++i) order.push_back(i);
    order.insert(order.begin() + axis, 0);
    return outside_.transpose(stack, std::move(order));
  }

  Value* padded(Value* stack, Value* length, bool before) {
    Value* wanted = outside_.reshape(outside_.cast(length, DataType::kInt64), {1});
    Value* missing = outside_.sub(wanted, outside_.slice(outside_.shape_of(stack), 0, 0, 1));
    Value* none = outside_.integers({0});
    Value* pads =
        outside_.concat(before ? std::vector{missing, none} : std::vector{none, missing}, 0);
    return outside_.add(Pad{}, {stack, pads, nullptr, outside_.integers({0})});
  }

  Graph& graph_;
  const LoopHandle& loop_;
  ValueMap& map_;
  FoldCache folded_, folded_inside_;
  BodyBuilder body_;
  Emitter outside_, inside_;
  std::vector<Value*> entries_, exits_;
  std::vector<Node*> nodes_, condition_nodes_;
  Node* node_ = nullptr;
  int stacked_ = 0;
};

}  // namespace

void take_place(Graph& graph, ValueMap& map, Value* stand_in, Value* value) {
  value->name = stand_in->name;
  graph.replace_uses(stand_in, value);
  for (auto& [outer, inner] : map)
    if (inner == stand_in) inner = value;
}

Status assemble_loop(Graph& graph, const LoopHandle& loop, ValueMap& map) {
  return LoopAssembly(graph, loop, map).run();
}

}  // namespace tenon::network
