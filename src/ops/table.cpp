#include "ops/table.h"

#include "ops/ops.h"

namespace tenon {
namespace {

template <class T> std::unique_ptr<Op> make() {
  return std::make_unique<T>();
}
template <class T> Status infer_as(const Op& op, InferContext& context) {
  return infer(static_cast<const T&>(op), context);
}
template <class T> Status evaluate_as(const Op& op, EvalContext& context) {
  return evaluate(static_cast<const T&>(op), context);
}

constexpr OpInfo kTable[] = {
#define TENON_OP(Struct, name, min_inputs, max_inputs, min_outputs, max_outputs, summary) \
  {#name,   min_inputs,   max_inputs,       min_outputs,        max_outputs,              \
   summary, make<Struct>, infer_as<Struct>, evaluate_as<Struct>},
#include "ops/ops.def"
};

}  // namespace

const OpInfo& op_info(OpKind kind) {
  return kTable[static_cast<int>(kind)];
}

std::span<const OpInfo> op_table() {
  return kTable;
}

std::unique_ptr<Op> make_op(std::string_view name) {
  if (const auto function = pointwise_by_name(name)) return std::make_unique<Pointwise>(*function);
  if (name == Pointwise::kName) return nullptr;  // Known by its function's name only.
  for (const OpInfo& row : kTable)
    if (row.name == name) return row.make();
  return nullptr;
}

}  // namespace tenon
