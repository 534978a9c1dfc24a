#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ir/dim.h"
#include "ir/op.h"
#include "ir/tensor.h"

namespace tenon {

class Graph;
class Node;

/// How the elements of a tensor lie in memory. The shape of a value is always the logical one (NCHW
/// for images).
enum class Layout : uint8_t {
  kRowMajor,      ///< Last axis contiguous.
  kChannelsLast,  ///< Axis 1 moved last (NHWC, NDHWC, NWC), dense; for rank >= 3.
};

/// Element type, shape and layout of a value.
struct TensorType {
  DataType type = DataType::kFloat32;
  Shape shape;
  Layout layout = Layout::kRowMajor;
  bool operator==(const TensorType&) const = default;
};

/// An operand slot of a node.
struct Use {
  Node* node = nullptr;
  int index = 0;
};

/// A tensor in the graph: a graph input or an output of a node. Created and owned by its Graph.
class Value {
 public:
  std::string name;  ///< Name in the model; may be empty for values that passes made.
  TensorType type;
  /// Contents as expressions, known for small integer tensors that carry shapes (at most
  /// kMaxKnownElements elements).
  std::optional<std::vector<Dim>> elements;

  Node* producer() const { return producer_; }  ///< Null for graph inputs.
  int index() const { return index_; }  ///< Which output of the producer, or which graph input.
  std::span<const Use> uses() const { return uses_; }
  /// Contents when the producer is a `constant`, else null.
  const Tensor* constant() const;

 private:
  friend class Graph;
  friend class Node;
  Node* producer_ = nullptr;
  int index_ = 0;
  std::vector<Use> uses_;
};

inline constexpr int kMaxKnownElements = 64;

/// One operator application. Optional inputs that are absent are null. Bodies (of if, loop, scan,
/// fused) are isolated: values from outside come in through the node's inputs.
class Node {
 public:
  std::unique_ptr<Op> op;
  std::string name;  ///< Layer name, unique in its graph.
  std::vector<std::string>
      origins;  ///< ONNX nodes (or API layers) it came from, kept by every pass.
  std::vector<std::unique_ptr<Graph>> bodies;
  std::string tactic;  ///< Chosen kernel, e.g. "cpu.gemm.packed{mb=14}"; empty before selection.
  Tensor packed;       ///< Its constants in the form that kernel reads, bytes; mostly undefined.

  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }
  Value* input(int index) const {
    return index < static_cast<int>(inputs_.size()) ? inputs_[index] : nullptr;
  }
  Value* output(int index = 0) const { return outputs_[index]; }
  bool has_input(int index) const { return input(index) != nullptr; }
  Graph& graph() const { return *graph_; }
  OpKind kind() const { return op->kind(); }

  /// The operator as type T, or null when it is another one.
  template <class T> T* as() const {
    return op->kind() == T::kKind ? static_cast<T*>(op.get()) : nullptr;
  }
  template <class T> bool is() const { return op->kind() == T::kKind; }

  /// Keeps the use lists in step; `value` may be null. An index beyond the operands adds absent
  /// ones up to it.
  void set_input(int index, Value* value);
  void append_input(Value* value);
  /// Drops operands from `count` on.
  void truncate_inputs(int count);
  /// Appends an output of default type.
  Value* append_output();
  /// True when removing it would change the graph's results or effects, bodies included.
  bool has_side_effects() const;

 private:
  friend class Graph;
  void drop_use(int index);
  Graph* graph_ = nullptr;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
};

/// A list of nodes in topological order with inputs and outputs. Owns its nodes and values;
/// pointers to them stay valid until they are erased. Not thread-safe.
class Graph {
 public:
  Graph();
  ~Graph();
  Graph(Graph&&) noexcept;
  Graph& operator=(Graph&&) noexcept;

  std::string name;
  SymbolRanges symbol_ranges;  ///< Ranges of symbolic extents.

  /// Nodes in topological order (as of the last sort()).
  std::span<const std::unique_ptr<Node>> nodes() const { return nodes_; }
  const std::vector<Value*>& inputs() const { return inputs_; }
  const std::vector<Value*>& outputs() const { return outputs_; }

  Value* add_input(std::string name, TensorType type);
  void add_output(Value* value) { outputs_.push_back(value); }
  void set_output(int index, Value* value) { outputs_[index] = value; }
  void clear_outputs() { outputs_.clear(); }
  bool is_output(const Value* value) const;
  /// Removes an input that has no uses.
  void erase_input(int index);

  /// Appends a node with `output_count` new values of default type (infer_node gives them theirs).
  Node* add_node(std::unique_ptr<Op> op, std::vector<Value*> inputs, int output_count = 1,
                 std::string name = {});
  /// Appends a `constant` and returns its value. Needs the operator, hence implemented in ops/.
  Value* add_constant(Tensor tensor, std::string name = {});

  /// Makes all users of `from` (graph outputs included) use `to`.
  void replace_uses(Value* from, Value* to);
  /// Removes a node whose outputs have no uses.
  void erase(Node* node);
  /// Removes nodes without side effects that no output needs, nor its extents. Returns how many.
  int remove_dead();
  /// Restores topological order, keeping the order of independent nodes. Fails on a cycle, naming
  /// its nodes.
  Status sort();
  /// Deep copy; `mapping`, if given, receives old to new values.
  std::unique_ptr<Graph> clone(
      std::vector<std::pair<const Value*, Value*>>* mapping = nullptr) const;
  /// A symbol name not used so far, "d0", "d1", ... with the given range.
  Dim fresh_symbol(Range range);

 private:
  friend class Node;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<Value>> values_;
  std::vector<Value*> inputs_;
  std::vector<Value*> outputs_;
  int next_symbol_ = 0;
};

}  // namespace tenon
