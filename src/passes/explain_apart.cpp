#include "passes/explain_apart.h"

#include <algorithm>

#include "ops/ops.h"
#include "passes/epilogue_rule.h"

namespace tenon {
namespace {

/// Names in a reason, at most.
constexpr size_t kMostReaders = 3;

/// The node of a region that gives its first result, or the node itself.
const Node& last_step(const Node& node) {
  if (!node.is<Fused>()) return node;
  const Node* last = node.bodies[0]->outputs()[0]->producer();
  return last == nullptr ? node : last_step(*last);
}

/// The member that decides which kernel runs a region.
const Node* anchor_of_layer(const Node& node) {
  if (takes_epilogue(node)) return &node;
  if (!node.is<Fused>()) return nullptr;
  for (const auto& member : node.bodies[0]->nodes())
    if (const Node* anchor = anchor_of_layer(*member)) return anchor;
  return nullptr;
}

bool is_scalar_work(const Node& node) {
  if (node.is<Pointwise>() || node.is<Cast>()) return true;
  return node.is<Fused>() && std::ranges::all_of(node.bodies[0]->nodes(), [](const auto& member) {
           return is_scalar_work(*member) || member->template is<Constant>();
         });
}

/// The member of a layer that reads its operand `index` first.
const Node& reader_inside(const Node& node, int index) {
  if (!node.is<Fused>()) return node;
  const auto& inputs = node.bodies[0]->inputs();
  if (index >= static_cast<int>(inputs.size()) || inputs[index]->uses().empty()) return node;
  const Use& use = inputs[index]->uses()[0];
  return reader_inside(*use.node, use.index);
}

std::string other_readers(const Graph& graph, const Value& value, const Node& reader) {
  if (graph.is_output(&value)) return "the value between them is an output of the network";
  std::vector<std::string> names;
  for (const Use& use : value.uses())
    if (use.node != &reader && std::ranges::find(names, use.node->name) == names.end())
      names.push_back(use.node->name);
  if (names.empty()) return {};
  const size_t more = names.size() > kMostReaders ? names.size() - kMostReaders : 0;
  std::string list;
  for (size_t i = 0; i < names.size() - more; ++i)
    list += fmt::format("{}'{}'", i == 0 ? "" : ", ", names[i]);
  if (more > 0) list += fmt::format(" and {} more", more);
  return fmt::format("the value between them is read by {} too, so it has to be written", list);
}

class Explanation {
 public:
  Explanation(const Graph& graph, const PassOptions& options, Logger& logger)
      : graph_(graph), options_(options), context_(options, logger) {}

  std::vector<ApartLayers> all() {
    for (const auto& node : graph_.nodes()) {
      if (!is_scalar_work(*node)) continue;
      for (size_t i = 0; i < node->inputs().size(); ++i)
        look_at(*node, node->inputs()[i], static_cast<int>(i));
    }
    return std::move(found_);
  }

 private:
  bool is_off(std::string_view pass) const {
    return std::ranges::find(options_.disabled, pass) != options_.disabled.end();
  }

  void look_at(const Node& consumer, const Value* value, int index) {
    if (value == nullptr || value->producer() == nullptr) return;
    const Node& producer = *value->producer();
    if (producer.is<Constant>() || producer.is<Dims>()) return;
    const Node* anchor = anchor_of_layer(producer);
    const std::string_view pass =
        anchor == nullptr && is_scalar_work(producer) ? "fuse_pointwise" : "fuse_epilogue";
    context_.start(pass);
    std::string reason = why(producer, anchor, *value, consumer, index, pass);
    if (reason.empty()) return;
    found_.push_back({producer.name, consumer.name, std::string(pass), std::move(reason)});
  }

  std::string why(const Node& producer, const Node* anchor, const Value& value,
                  const Node& consumer, int index, std::string_view pass) const {
    if (is_off(pass)) return fmt::format("--disablePass={} switches the pass off", pass);
    if (!context_.allows_fusion(producer) || !context_.allows_fusion(consumer))
      return "a setting of this build (--noFuse or --disablePass) keeps them apart";
    if (anchor == nullptr && !is_scalar_work(producer))
      return fmt::format(
          "'{}' ({}) stands before it: kernels of that kind do not compute scalar functions of "
          "their results",
          producer.name, last_step(producer).op->name());
    if (std::string readers = other_readers(graph_, value, consumer); !readers.empty())
      return readers;
    if (anchor == nullptr) return why_groups(value, consumer);
    const Node& next = reader_inside(consumer, index);
    std::string refusal = epilogue_refusal(graph_, *anchor, value, next, context_);
    return refusal.empty() ? "the chain behind the kernel is as long as it may be, or its other "
                             "operand is computed later"
                           : fmt::format("'{}' ({}): {}", next.name, next.op->name(), refusal);
  }

  static std::string why_groups(const Value& value, const Node& consumer) {
    const Shape &shape = value.type.shape, &result = consumer.output()->type.shape;
    if (shape != result)
      return fmt::format("one gives the shape {}, the other {}", to_string(shape),
                         to_string(result));
    return "together they would have more operands or steps than one kernel takes";
  }

  const Graph& graph_;
  const PassOptions& options_;
  PassContext context_;
  std::vector<ApartLayers> found_;
};

}  // namespace

std::vector<ApartLayers> explain_apart(const Graph& graph, const PassOptions& options,
                                       Logger& logger) {
  return Explanation(graph, options, logger).all();
}

}  // namespace tenon
