#pragma once

#include <optional>

#include "plan/concrete_graph.h"

namespace tenon {

/// Sizes and offsets of a graph's values as expressions of its symbols. All agree with the concrete
/// graph's numbers under its symbols; nothing where no expression is known.
class SymbolicPlaces {
 public:
  explicit SymbolicPlaces(const ConcreteGraph& graph) : graph_(graph) {}

  /// A number by its expression where that has this value, else itself; is_fixed() from then on
  /// unless it is the same for all shapes anyway.
  Dim of(const std::optional<Dim>& expression, int64_t number);
  /// Some number of a graph with symbols had no expression.
  bool is_fixed() const { return is_fixed_; }

  /// Bytes of a value, and of one of its samples (along its first axis).
  static Dim bytes(const Value& value);
  static Dim sample_bytes(const Value& value);
  /// Elements from the start of its root's buffer to those of a value.
  std::optional<Dim> offset(const Value& value) const;

 private:
  std::optional<Dim> slice_start(const Node& slice) const;
  std::optional<Dim> inside_concat(const Value& value) const;
  std::optional<Dim> stride(const Value& value, int64_t axis) const;

  const ConcreteGraph& graph_;
  bool is_fixed_ = false;
};

}  // namespace tenon
