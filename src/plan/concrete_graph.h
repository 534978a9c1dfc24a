#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/pointer_map.h"
#include "base/status.h"
#include "ir/graph.h"
#include "kernels/backend.h"
#include "kernels/tactic.h"
#include "ops/structure.h"
#include "plan/plan.h"

namespace tenon {

/// Where a value's elements lie: inside the buffer of `root`.
struct Storage {
  const Value* root = nullptr;
  int64_t offset = 0;  ///< In elements.
  std::vector<int64_t>
      strides;  ///< In elements, logical order; empty: dense in the value's layout.
};

/// Values of the symbols in the shapes of graph inputs. Fails when extents contradict each other or
/// the graph.
/// Symbols of shape inputs (plan/shape_values.h) that are not among `values` get none.
Result<SymbolValues> bind_inputs(const Graph& graph, const std::map<std::string, Extents>& shapes,
                                 const ShapeValues& values = {});

/// A value's extents under these; nothing where one is missing. An error where the value would be
/// impossible or larger than any tensor.
Result<std::optional<Extents>> concrete_extents(const Value& value, const SymbolValues& symbols);

/// What does not vary with a graph's symbols: extents and storage of its constants. For graphs that
/// are met under many values of these.
struct ConstantPlaces {
  explicit ConstantPlaces(const Graph& graph);
  PointerMap<Value, Extents> extents;
  PointerMap<Value, Storage> storage;
};

/// A graph under given values of its symbols: extents, known contents, storage, and the problem of
/// each node. Values whose shapes are data-dependent not seen yet are unresolved. Refers to the
/// graph, which must outlive it.
class ConcreteGraph {
 public:
  /// `constants`: of the graph; null: they are found here.
  static Result<ConcreteGraph> create(const Graph& graph, SymbolValues symbols,
                                      std::shared_ptr<const ConstantPlaces> constants = nullptr);

  const Graph& graph() const { return *graph_; }
  const SymbolValues& symbols() const { return symbols_; }
  bool resolved(const Value* value) const {
    return extents_.contains(value) ||
           (constants_ != nullptr && constants_->extents.contains(value));
  }
  /// All operands of the node are resolved.
  bool resolved(const Node& node) const;
  const Extents& extents(const Value* value) const {
    return of_value(value, extents_, &ConstantPlaces::extents);
  }
  int64_t bytes(const Value* value) const {
    return element_count(extents(value)) * byte_size(value->type.type);
  }
  /// Contents known without running anything, or null.
  const Tensor* known(const Value* value) const;
  const Storage& storage(const Value* value) const {
    return of_value(value, storage_, &ConstantPlaces::storage);
  }
  Operand operand(const Value* value) const;
  /// Buffers are aligned to 256 bytes, but that of this root only so far.
  void align(const Value* root, int64_t bytes);
  /// The node moves no data here: it has the tactic "view", and under these extents its outputs are
  /// views.
  bool is_view(const Node& node) const;
  /// Whether two nodes, whose values have the same types, have the same extents, strides and
  /// alignment.
  bool has_equal_operands(const Node& node, const Node& other) const;
  /// For a resolved node.
  Problem problem(const Node& node, const Backend& backend, int threads) const;

 private:
  template <class T>
  const T& of_value(const Value* value, const PointerMap<Value, T>& own,
                    PointerMap<Value, T> ConstantPlaces::*shared) const {
    const auto found = own.find(value);
    if (found != own.end()) return found->second;
    return constants_ != nullptr ? (*constants_.*shared).at(value) : own.at(value);
  }
  /// Its results are among the constants.
  bool is_shared(const Node& node) const { return constants_ != nullptr && node.is<Constant>(); }
  Status resolve_extents();
  Status check_count(const Node& node) const;
  void resolve_known();
  void place_concats();
  void place_values();
  bool place_view(const Node& node);
  int64_t alignment(const Value* value) const;
  Result<Storage> view_of(const Node& node, int output) const;

  const Graph* graph_ = nullptr;
  SymbolValues symbols_;
  std::shared_ptr<const ConstantPlaces> constants_;
  PointerMap<Value, Extents> extents_;
  std::unordered_map<const Value*, Tensor> known_;
  PointerMap<Value, Storage> storage_;
  std::unordered_map<const Value*, int64_t> alignments_;  ///< Of roots that are aligned less.
  std::unordered_set<const Node*> no_views_;              ///< Have the tactic, but not the strides.
};

}  // namespace tenon
