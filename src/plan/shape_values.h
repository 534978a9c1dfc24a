#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace tenon {

/// Shape inputs: inputs of a graph whose contents the profiles give ranges for. Their contents are
/// symbols like extents are, so that all that follows from them is known before a run; they lie on
/// the host. Value::elements of the graph's input tells them from others.

inline bool is_shape_input(const Value& input) {
  return input.producer() == nullptr && input.elements.has_value();
}

/// Gives such inputs their elements, and the graph the ranges of their symbols: constants where all
/// profiles agree on one number. An error where a profile contradicts the graph or another one.
Status name_shape_values(Graph& graph, const std::vector<Profile>& profiles);

/// Makes readers of such inputs read their elements instead. Must run behind name_shape_values()
/// and before the passes, which then see contents where there was data.
void replace_shape_inputs(Graph& graph);

/// The symbols of one input's elements take the numbers that were given.
Status bind_shape_values(const Value& input, const std::vector<int64_t>& numbers,
                         SymbolValues& symbols);

/// The shape values that a run of one profile may have.
Status check_shape_values(const std::string& input, const std::vector<int64_t>& numbers,
                          const ShapeRange& range);

/// The usual contents of one, and the numbers of all under a profile, by name.
Tensor usual_contents(const Value& input, const ShapeRange& range);
ShapeValues usual_values(const Graph& graph, const Profile& profile);

}  // namespace tenon
