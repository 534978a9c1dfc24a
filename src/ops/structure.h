#pragma once

#include "ops/op_kind.h"

namespace tenon {

struct Constant final : OpBase<Constant> {
  TENON_OP_HEADER(Constant, "constant");
  Tensor value;
  Constant() = default;
  explicit Constant(Tensor tensor) : value(std::move(tensor)) {}
  const Tensor* constant_value() const override { return &value; }
  TENON_ATTRIBUTES(value);
};

struct Identity final : OpBase<Identity> {
  TENON_OP_HEADER(Identity, "identity");
};

/// bodies[0] takes the node's inputs and returns its outputs. The anchor is the one node that is
/// not pointwise; a region without one is a pointwise group.
struct Fused final : OpBase<Fused> {
  TENON_OP_HEADER(Fused, "fused");
};

/// Inputs: condition, then the captures that both bodies take. bodies[0] is the then-branch,
/// bodies[1] the else-branch.
struct If final : OpBase<If> {
  TENON_OP_HEADER(If, "if");
};

/// Inputs: trip count (may be absent), condition (may be absent), `carried` values, then captures.
/// The body takes iteration number, condition, carried values, captures and returns condition,
/// carried values, then scan outputs. The node's outputs: last carried values, then scan outputs
/// stacked along a new axis 0.
struct Loop final : OpBase<Loop> {
  TENON_OP_HEADER(Loop, "loop");
  int64_t carried = 0;
  TENON_ATTRIBUTES(carried);
};

/// Inputs: `states` initial states, `scanned` scanned inputs, then captures. The body takes states,
/// one slice of each scanned input, captures and returns states, then one slice of each scan
/// output. Directions: 1 is backward.
struct Scan final : OpBase<Scan> {
  TENON_OP_HEADER(Scan, "scan");
  int64_t states = 0;
  int64_t scanned = 0;
  std::vector<int64_t> input_axes, input_directions, output_axes, output_directions;
  TENON_ATTRIBUTES(states, scanned, input_axes, input_directions, output_axes, output_directions);
};

struct Assertion final : OpBase<Assertion> {
  TENON_OP_HEADER(Assertion, "assertion");
  std::string message;
  bool has_side_effects() const override { return true; }
  TENON_ATTRIBUTES(message);
};

/// Changes the layout (the output value's `type.layout`), not the contents.
struct Reformat final : OpBase<Reformat> {
  TENON_OP_HEADER(Reformat, "reformat");
};

struct Plugin final : OpBase<Plugin> {
  TENON_OP_HEADER(Plugin, "plugin");
  std::string type, version, space;
  std::string fields;     ///< Serialized fields, as text.
  std::string timing_id;  ///< Times of its tactics are kept under it; empty: they are not.
  int64_t inputs = -1;    ///< Operands that the plugin reads; those after them only give shapes.
  /// Types and extents of the outputs: the DataTypes, and for each output the number of axes, for
  /// each axis the number of words and the words of a postfix expression, three numbers each:
  /// {0, value, 0}, {1, input, axis}, {2, input, element}, {3, DimensionOperation, 0}.
  std::vector<int64_t> output_types, output_shapes;
  /// Scales of the operands that the plugin reads, then of its outputs: an i8 operand stands for
  /// reals, its scale times the number. None: all are 1.
  std::vector<double> scales;
  TENON_ATTRIBUTES(type, version, space, fields, timing_id, inputs, output_types, output_shapes,
                   scales);

  double scale(size_t operand) const { return operand < scales.size() ? scales[operand] : 1.0; }
};

}  // namespace tenon
