#include "ops/dims.h"

#include "ops/table.h"

namespace tenon {

std::optional<Tensor> Dims::evaluate(const SymbolValues& symbols) const {
  Tensor tensor(to, extents);
  if (tensor.count() != static_cast<int64_t>(expressions.size())) return std::nullopt;
  for (size_t i = 0; i < expressions.size(); ++i) {
    const auto dim = Dim::parse(expressions[i]);
    if (!dim.ok()) return std::nullopt;
    const auto value = dim->evaluate(symbols);
    if (!value.has_value()) return std::nullopt;
    if (to == DataType::kInt32)
      tensor.mutable_values<int32_t>()[i] = static_cast<int32_t>(*value);
    else
      tensor.mutable_values<int64_t>()[i] = *value;
  }
  return tensor;
}

Status infer(const Dims& op, InferContext& context) {
  std::vector<Dim> elements;
  for (const std::string& expression : op.expressions) {
    TENON_ASSIGN(Dim dim, Dim::parse(expression));
    elements.push_back(std::move(dim));
  }
  if (element_count(op.extents) != static_cast<int64_t>(elements.size()))
    return context.fail("the number of expressions is not that of the elements");
  if (op.to != DataType::kInt64 && op.to != DataType::kInt32)
    return context.fail("the type must be i32 or i64");
  context.set_output(0, op.to, to_shape(op.extents));
  context.set_elements(0, std::move(elements));
  return {};
}

Status evaluate(const Dims& op, EvalContext& context) {
  static const SymbolValues kNone;
  auto tensor = op.evaluate(context.symbols() != nullptr ? *context.symbols() : kNone);
  if (!tensor.has_value()) return context.fail("a symbol of its expressions has no value");
  return context.finish(std::move(*tensor));
}

}  // namespace tenon
