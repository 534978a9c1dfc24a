#pragma once

#include <string>
#include <vector>

#include "kernels/backend.h"
#include "ops/pointwise_function.h"
#include "passes/pass.h"

namespace tenon {

/// A wrong kernel's change of its result. `values` are numbers of the output in the order of its
/// memory, which it changes.
using Damage = void (*)(std::vector<double>& values, const Operand& output);

/// All of the CPU's tactics. Those of regions with an operator named `op` ("conv", "fused" for any
/// region without an anchor) damage their results, but for cpu.reference.
std::vector<Tactic> damaged_tactics(std::string op, Damage damage);
/// How many results were damaged since damaged_tactics() was called.
int64_t damaged_results();

/// The operator that a region is known by: its anchor's.
std::string anchor_name(const Node& node);

/// Mistakes of kernels.
namespace damage {
void one_element(std::vector<double>& values, const Operand& output);
void one_in_ten_thousand(std::vector<double>& values, const Operand& output);
void last_tile_is_zero(std::vector<double>& values, const Operand& output);
void tile_of_its_neighbour(std::vector<double>& values, const Operand& output);
void one_percent_too_large(std::vector<double>& values, const Operand& output);
void shifted_by_one(std::vector<double>& values, const Operand& output);
void bias_of_the_next_channel(std::vector<double>& values, const Operand& output);
void one_not_a_number(std::vector<double>& values, const Operand& output);
void large_ones_cut(std::vector<double>& values, const Operand& output);
void not_written_at_the_end(std::vector<double>& values, const Operand& output);
void negative_ones_lost(std::vector<double>& values, const Operand& output);
void two_steps_off(std::vector<double>& values, const Operand& output);
void channel_of_its_neighbour(std::vector<double>& values, const Operand& output);
void last_terms_of_one_sum_lost(std::vector<double>& values, const Operand& output);
void every_hundredth_negated(std::vector<double>& values, const Operand& output);
}  // namespace damage

/// A mistake of a pass: changes one thing in a graph after all other passes, in regions too. False
/// where there is no such thing.
using Mistake = bool (*)(Graph& graph);

namespace mistake {
bool bias_dropped(Graph& graph);
bool one_weight_wrong(Graph& graph);
bool weights_two_percent_larger(Graph& graph);
bool channels_of_weights_swapped(Graph& graph);
bool pads_moved(Graph& graph);
bool maximum_for_mean(Graph& graph);
bool other_epsilon(Graph& graph);
bool other_scale_of_attention(Graph& graph);
bool mask_dropped(Graph& graph);
bool axes_swapped(Graph& graph);
bool stale_residual(Graph& graph);
bool residual_twice(Graph& graph);
bool activation_dropped(Graph& graph);
bool other_softmax_axis(Graph& graph);
bool quantized_with_other_scale(Graph& graph);
bool parts_swapped(Graph& graph);
bool pool_moved(Graph& graph);
bool transposed_otherwise(Graph& graph);
bool late_bias_dropped(Graph& graph);
bool late_weight_wrong(Graph& graph);
}  // namespace mistake

}  // namespace tenon
