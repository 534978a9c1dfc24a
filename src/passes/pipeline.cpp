#include <algorithm>
#include <chrono>

#include "ops/table.h"
#include "ops/verifier.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// The order. One line a step; a pass may come several times.
constexpr std::string_view kPipeline[] = {
    "widen_half",
    // Which weights stay quantized follows from what they meet.
    "sink_dequantize",
    "hoist_quantize",
    "cancel_quantize",
    "fold_constants",
    // What is left of control flow runs operator by operator.
    "inline_branches",
    "hoist_invariants",
    "unroll_loops",
    "fold_constants",
    "lower_einsum",
    "simplify",
    // Masks and positions that all of a batch share are constants.
    "sink_expands",
    "fold_constants",
    "simplify",
    "straighten_transposes",
    "simplify",
    // Patterns are written over folded constants, without identities between their nodes, and with
    // shared values.
    "merge_equal",
    "fold_padding",
    "recognize_normalization",
    "fuse_reductions",
    "recognize_group_norm",
    "recognize_activations",
    "recognize_rotary",
    "straighten_attention",
    "recognize_attention",
    // Layers share what attention made of their mask.
    "merge_equal",
    "straighten_gathers",
    "gather_to_slice",
    // The transpose behind attention meets the exporter's.
    "simplify",
    "lift_products",
    "sink_reshapes",
    // Attention adds transposes that cancel others, sinking adds reshapes that do.
    "simplify",
    "straighten_transposes",
    "simplify",
    "fold_into_weights",
    "lift_pooling",
    // Products whose scales and shifts are in their weights by now.
    "merge_products",
    // Quantization moves to where it meets products, which take it in before casts part them.
    "sink_dequantize",
    "hoist_quantize",
    "cancel_quantize",
    "fold_constants",
    "fuse_quantized",
    "unpack_weights",
    "lower_precision",
    // Casts of weights.
    "fold_constants",
    // Regions are made of logical operators, so layouts come after them: a reformat between two
    // would part them.
    "fuse_squeeze",
    "fuse_expansion",
    "fuse_stem",
    "fuse_epilogue",
    // Sums that no product took.
    "fuse_residual",
    // What no anchor took.
    "fuse_pointwise",
    "fuse_independent",
    "choose_layouts",
    "fold_constants",
};

bool is_disabled(const PassOptions& options, std::string_view name) {
  return std::find(options.disabled.begin(), options.disabled.end(), name) !=
         options.disabled.end();
}

}  // namespace

std::vector<const PassInfo*> pipeline_of(const PassOptions& options) {
  std::vector<const PassInfo*> steps;
  for (const std::string_view name : kPipeline) steps.push_back(find_pass(name));
  for (const PassInfo& pass : options.extra) steps.push_back(&pass);
  return steps;
}

Result<bool> run_pass(Graph& graph, const PassInfo& pass, PassContext& context) {
  using Clock = std::chrono::steady_clock;
  const auto start = Clock::now();
  context.start(pass.name);
  const size_t reports = context.log().size(), nodes = graph.nodes().size();
  const bool changed = pass.run(graph, context);
  Status status;
  if (changed) {
    graph.remove_dead();
    status = graph.sort();
    if (status.ok()) status = infer_graph(graph);
    if (status.ok()) status = verify(graph);
  }
  // What makes many small changes does not name them.
  if (changed && context.log().size() == reports)
    context.applied(fmt::format("{} nodes become {}", nodes, graph.nodes().size()));
  if (!status.ok())
    return std::move(status).error().with_context(fmt::format("after pass {}", pass.name));
  context.logger().verbose("pass {}: {} nodes, {:.1f} ms", pass.name, graph.nodes().size(),
                           std::chrono::duration<double, std::milli>(Clock::now() - start).count());
  return changed;
}

Result<std::vector<std::string>> run_passes(Graph& graph, const PassOptions& options,
                                            Logger& logger) {
  PassContext context(options, logger);
  TENON_TRY(infer_graph(graph));
  const std::vector<const PassInfo*> pipeline = pipeline_of(options);
  const size_t steps = std::min<size_t>(pipeline.size(), std::max(options.steps, 0));
  for (size_t i = 0; i < steps; ++i) {
    const PassInfo& pass = *pipeline[i];
    if (options.level < pass.level || is_disabled(options, pass.name)) continue;
    TENON_TRY(run_pass(graph, pass, context));
  }
  return context.log();
}

}  // namespace tenon
