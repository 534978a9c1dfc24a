#pragma once

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "ir/graph.h"

namespace tenon {

/// Inputs and results of the shape inference of one node. Used with symbolic shapes while building
/// and with constant ones at run time.
class InferContext {
 public:
  /// `known`, if given, are contents of the inputs known only to the caller (at run time); null
  /// entries are unknown.
  explicit InferContext(Node& node, std::span<const Tensor* const> known = {});

  const Node& node() const { return node_; }
  /// For control flow, which infers its bodies.
  Node& mutable_node() { return node_; }
  int input_count() const { return static_cast<int>(node_.inputs().size()); }
  int output_count() const { return static_cast<int>(node_.outputs().size()); }
  bool has_input(int index) const { return node_.has_input(index); }
  const TensorType& input(int index) const { return node_.input(index)->type; }
  const Shape& shape(int index) const { return input(index).shape; }
  int rank(int index) const { return static_cast<int>(shape(index).size()); }

  /// Contents of an input, when known.
  const Tensor* constant(int index) const;
  /// Contents of a small integer input as expressions: from a constant, from Value::elements, or
  /// nothing.
  std::optional<std::vector<Dim>> elements(int index) const;
  /// Contents as constants only, e.g. axes.
  std::optional<std::vector<int64_t>> integers(int index) const;

  void set_output(int index, DataType type, Shape shape);
  /// Sets the first output, often the only one; for the end of an inference.
  Status finish(DataType type, Shape shape) {
    set_output(0, type, std::move(shape));
    return {};
  }
  /// Ignored when there are more than kMaxKnownElements or an expression is very large.
  void set_elements(int index, std::vector<Dim> elements);
  /// A data-dependent extent, at most `bound` (a constant upper bound is taken from the symbol
  /// ranges). Inferring a node again gives the symbols it has already.
  Dim data_dependent(const Dim& bound);
  /// Called after an inference: an extent in which a symbol of this node's own is only part of an
  /// expression becomes a symbol itself. Who runs the node can then tell the symbol's value from
  /// its outputs.
  void name_own_extents();
  /// axis in [-rank, rank) to [0, rank), or an error naming the node.
  Result<int64_t> axis(int64_t axis, int rank) const;
  /// A user error that names node, operator and input types.
  Error fail(std::string_view what) const;

 private:
  Node& node_;
  std::span<const Tensor* const> known_;
  std::vector<std::string> symbols_;  ///< Made for this node by an earlier inference.
  size_t next_symbol_ = 0;            ///< The first of `symbols_` that this inference has not used.
};

/// Inputs and results of the reference evaluation of one node. Inputs are dense row-major host
/// tensors.
class EvalContext {
 public:
  EvalContext(const Node& node, std::span<const Tensor* const> inputs);

  const Node& node() const { return node_; }
  int output_count() const { return static_cast<int>(node_.outputs().size()); }
  bool has_input(int index) const {
    return index < static_cast<int>(inputs_.size()) && inputs_[index] != nullptr;
  }
  const Tensor& input(int index) const { return *inputs_[index]; }
  /// An uninitialised output to fill. Throws std::bad_alloc, which evaluate_node turns into an
  /// Error.
  Tensor& make_output(int index, DataType type, Extents extents);
  void set_output(int index, Tensor tensor) { outputs_[index] = std::move(tensor); }
  /// Sets the first output, often the only one; for the end of an evaluation.
  Status finish(Tensor tensor) {
    set_output(0, std::move(tensor));
    return {};
  }
  std::vector<Tensor>& outputs() { return outputs_; }
  Error fail(std::string_view what) const;

  /// Values of the symbols in shapes, when the caller knows them.
  const SymbolValues* symbols() const { return symbols_; }
  void set_symbols(const SymbolValues* symbols) { symbols_ = symbols; }

 private:
  const SymbolValues* symbols_ = nullptr;
  const Node& node_;
  std::vector<const Tensor*> inputs_;
  std::vector<Tensor> outputs_;
};

}  // namespace tenon
