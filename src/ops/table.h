#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ops/context.h"
#include "ops/op_kind.h"

namespace tenon {

/// A row of ops/ops.def together with the two functions every operator has.
struct OpInfo {
  std::string_view name;
  int min_inputs, max_inputs;  ///< -1: any number.
  int min_outputs, max_outputs;
  std::string_view summary;
  std::unique_ptr<Op> (*make)();
  Status (*infer)(const Op& op, InferContext& context);
  Status (*evaluate)(const Op& op, EvalContext& context);
};

const OpInfo& op_info(OpKind kind);
std::span<const OpInfo> op_table();
/// A default operator by its name in the text (a row's, or a scalar function's), or null.
std::unique_ptr<Op> make_op(std::string_view name);

/// Sets types (and known elements) of the node's outputs. Layouts of outputs are left alone.
Status infer_node(Node& node, std::span<const Tensor* const> known = {});
/// All nodes in order.
Status infer_graph(Graph& graph);
/// Reference evaluation of one node; `inputs` has an entry per operand, null for absent ones.
/// `symbols`, if given, are values of symbolic extents.
Result<std::vector<Tensor>> evaluate_node(const Node& node, std::span<const Tensor* const> inputs,
                                          const SymbolValues* symbols = nullptr);
/// Reference evaluation of a whole graph. Symbols get their values from the inputs' extents.
Result<std::vector<Tensor>> evaluate_graph(const Graph& graph, std::span<const Tensor> inputs);
/// Called for every value while a graph is evaluated, with its contents.
using ValueObserver = std::function<void(const Value&, const Tensor&)>;
Result<std::vector<Tensor>> evaluate_graph(const Graph& graph, std::span<const Tensor> inputs,
                                           const ValueObserver& observer);

/// Reference evaluation of a body: the same without checks of the inputs' extents, which may differ
/// from one call to the next. `symbols` are values of the enclosing graph's symbols, or null.
Result<std::vector<Tensor>> evaluate_body(const Graph& body, std::span<const Tensor> inputs,
                                          const SymbolValues* symbols);

#define TENON_OP(Struct, ...)                            \
  struct Struct;                                         \
  Status infer(const Struct& op, InferContext& context); \
  Status evaluate(const Struct& op, EvalContext& context);
#include "ops/ops.def"

}  // namespace tenon
