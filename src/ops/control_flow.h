#pragma once

#include "ir/operation.h"

namespace tenon {

/// If, loop or scan: a node whose bodies are graphs that run by themselves.
bool is_control_flow(const Operation& operation);

/// False for the branch that a known condition never takes: it may be ill-formed.
bool may_run(const Node& node, int body);

/// Where the operands of a loop or scan stand, and those of its body.
struct Recurrence {
  explicit Recurrence(const Node& node);

  int first = 0;    ///< Inputs before the states, of the node and equally of its body.
  int results = 0;  ///< The body's outputs before the states.
  int states = 0;   ///< They go from each iteration to the next.
  int scanned = 0;  ///< Inputs behind the states of which an iteration gets a slice.
  int stacked = 0;  ///< Outputs behind the states of which an iteration gives a slice.

  /// Scans may go along any axis, and backward.
  int64_t input_axis(const Node& node, int index) const;
  int64_t output_axis(const Node& node, int index) const;
  bool input_backward(const Node& node, int index) const;
  bool output_backward(const Node& node, int index) const;
};

/// Whether each iteration of a loop is followed by another one until the trip count ends it.
bool always_goes_on(const Node& loop);

}  // namespace tenon
