#include "lower/lower.h"

#include <algorithm>

#include "base/pointer_map.h"
#include "lower/place_values.h"
#include "lower/prefetch.h"
#include "lower/symbolic_places.h"
#include "lower/verify_steps.h"
#include "ops/dims.h"
#include "ops/structure.h"

namespace tenon {
namespace {

class Lowering {
 public:
  Lowering(const ConcreteGraph& graph, const std::vector<MadeStep>& made,
           const LowerOptions& options)
      : graph_(graph), made_(made), options_(options), symbolic_(graph) {
    places_.reserve(graph.graph().nodes().size());
    for (const auto& node : graph.graph().nodes())
      places_.try_emplace(node.get(), static_cast<int>(places_.size()));
  }

  Result<StepList> all() {
    const Graph& graph = graph_.graph();
    list_.name = graph.name;
    list_.inputs = static_cast<int>(graph.inputs().size());
    list_.outputs = static_cast<int>(graph.outputs().size());
    list_.symbols = graph_.symbols();
    list_.steps.reserve(made_.size() + graph.outputs().size());
    for (const MadeStep& made : made_) add(made);
    if (options_.has_streams) take_branches();
    let_starts_overlap();
    ValuePlaces values(graph_, made_, options_, list_, symbolic_);
    values.plan();
    for (size_t i = 0; i < made_.size(); ++i) values.address(i, list_.steps[i]);
    TENON_TRY(copy_outputs(values));
    share_fetches();
    const bool known_is_fixed = options_.known != nullptr && options_.known->is_fixed;
    list_.is_fixed = symbolic_.is_fixed() || known_is_fixed;
    TENON_TRY(verify(list_, graph, options_.known));
    return std::move(list_);
  }

 private:
  void add(const MadeStep& made) {
    Step& step = list_.steps.emplace_back();
    step.node = places_.at(made.node);
    step.name = made.node->name;
    step.kernel = made.tactic;
    step.bodies = made.bodies;
    if (made.samples > 1)
      step.samples = symbolic_.of(made.node->output()->type.shape[0], made.samples);
  }

  void take_branches() {
    for (Step& step : list_.steps)
      if (const auto found = options_.branches.find(step.node); found != options_.branches.end())
        step.section = found->second.section, step.stream = found->second.stream;
    for (size_t first = 0, end = 0; first < list_.steps.size(); first = end) {
      end = group_end(list_, first);
      if (list_.steps[first].section == 0 || are_independent(first, end)) continue;
      for (size_t i = first; i < end; ++i) list_.steps[i].section = list_.steps[i].stream = 0;
    }
  }

  /// Whether no step of a section reads a result of another stream of it.
  bool are_independent(size_t first, size_t end) const {
    std::unordered_map<const Value*, int> writers;
    for (size_t i = first; i < end; ++i) {
      const int stream = list_.steps[i].stream;
      for (const Value* input : made_[i].node->inputs()) {
        if (input == nullptr) continue;
        const auto writer = writers.find(graph_.storage(input).root);
        if (writer != writers.end() && writer->second != stream) return false;
      }
      for (const Value* output : made_[i].node->outputs()) {
        const auto [writer, is_new] = writers.try_emplace(graph_.storage(output).root, stream);
        // Several may write parts of one, which then none of them reads.
        if (!is_new && writer->second != stream) writer->second = -1;
      }
    }
    return true;
  }

  /// Where one kernel follows another on the same stream, with nothing between them.
  void let_starts_overlap() {
    for (size_t i = 1; i < list_.steps.size(); ++i) {
      Step& step = list_.steps[i];
      const auto same_section = [&](size_t j) { return list_.steps[j].section == step.section; };
      size_t ahead = i - 1;
      while (ahead > 0 && step.section != 0 && same_section(ahead) &&
             list_.steps[ahead].stream != step.stream)
        --ahead;
      if (!same_section(ahead) || list_.steps[ahead].stream != step.stream) continue;
      if (made_[i].kernel->waits_for_previous() && !is_streamed(i))
        list_.steps[ahead].overlapped = true;
      step.fenced = reads_early_of(made_[i], made_[ahead]);
    }
  }

  /// Whether the stream waits for weights between the step and the one ahead.
  bool is_streamed(size_t step) const {
    return std::ranges::any_of(options_.streamed, [&](const StreamedWeight& weight) {
      return static_cast<size_t>(weight.step) == step;
    });
  }

  /// Whether the step may read the other one's result before that has ended.
  bool reads_early_of(const MadeStep& step, const MadeStep& ahead) const {
    const auto& inputs = step.node->inputs();
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i] == nullptr || !step.kernel->reads_early(static_cast<int>(i))) continue;
      for (const Value* output : ahead.node->outputs())
        if (graph_.storage(output).root == graph_.storage(inputs[i]).root) return true;
    }
    return false;
  }

  /// Outputs that no step computes in place.
  Status copy_outputs(ValuePlaces& values) {
    const auto& outputs = graph_.graph().outputs();
    for (size_t i = 0; i < outputs.size(); ++i) {
      const Place to{.base = Place::Base::kOutput, .index = static_cast<int>(i)};
      const Place from = values.place(outputs[i]);
      if (from.base == to.base && from.index == to.index) continue;
      if (!graph_.storage(outputs[i]).strides.empty())
        return internal_error("output '{}' is a strided view", outputs[i]->name);
      Step& copy = list_.steps.emplace_back();
      const Node* producer = outputs[i]->producer();
      copy.node = producer == nullptr ? -1 : places_.at(producer);
      copy.name = producer == nullptr ? outputs[i]->name : producer->name;
      copy.bytes = symbolic_.of(
          SymbolicPlaces::bytes(*outputs[i]),
          element_count(graph_.extents(outputs[i])) * byte_size(outputs[i]->type.type));
      copy.inputs = {from};
      copy.outputs = {to};
    }
    // Buffers that outlive the kernels last through all copies.
    const int first = static_cast<int>(made_.size());
    const int last = std::max(first, static_cast<int>(list_.steps.size()) - 1);
    for (StepBuffer& buffer : list_.buffers)
      if (buffer.last == first) buffer.last = last;
    return {};
  }

  void share_fetches() {
    std::vector<PrefetchStep> fetches(list_.steps.size());
    for (size_t i = 0; i < made_.size(); ++i)
      fetches[i] = {made_[i].kernel->packed(), made_[i].kernel->fetch_capacity()};
    const auto ahead = plan_prefetches(fetches, options_.cache_bytes);
    for (size_t i = 0; i < list_.steps.size(); ++i) list_.steps[i].fetch = ahead[i];
  }

  const ConcreteGraph& graph_;
  const std::vector<MadeStep>& made_;
  const LowerOptions& options_;
  SymbolicPlaces symbolic_;
  PointerMap<Node, int> places_;
  StepList list_;
};

}  // namespace

bool has_step(const ConcreteGraph& graph, const Node& node) {
  return !node.is<Constant>() && !node.is<Dims>() && !graph.is_view(node);
}

Result<StepList> lower(const ConcreteGraph& graph, const std::vector<MadeStep>& made,
                       const LowerOptions& options) {
  return Lowering(graph, made, options).all();
}

}  // namespace tenon
