#pragma once

#include <optional>
#include <string>

#include "ir/graph.h"
#include "ops/numerics.h"

namespace tenon {

/// Whether a network has quantization to bytes.
bool rounds_to_bytes(const Graph& graph);
/// Whether a loop ends by its data alone: on random data it may not.
bool has_open_loop(const Graph& graph);
/// Whether shapes of its inputs vary.
bool has_open_extents(const Graph& network);
/// The coarsest type among a network's values.
DataType coarsest_type(const Graph& graph);

/// How a plan rounds what its network does not.
struct PlanRounding {
  const Graph& network;
  std::optional<DataType> precision;  ///< To which the build lowers it.
  bool in_tf32 = false;               ///< Products.

  /// Whether products are computed in less than the network's own precision.
  bool of_products() const { return precision.has_value() || in_tf32; }
  /// Whether it shows in the results of so many layers behind one another: their roundings add up
  /// like random steps.
  bool shows(double layers) const;
  /// What outputs may differ by.
  Tolerance tolerance() const;
  /// The bytes of values over those in f32.
  double narrow() const { return byte_size(precision.value_or(DataType::kFloat32)) / 4.0; }
  /// In words: "fp16 with quantization"; nothing where nothing rounds.
  std::string name() const;
};

}  // namespace tenon
