#include "plugin/shape_program.h"

#include <algorithm>

namespace tenon::plugin {
namespace {

using nvinfer1::DimensionOperation;
using nvinfer1::IDimensionExpr;

std::optional<int64_t> computed(DimensionOperation operation, int64_t a, int64_t b) {
  switch (operation) {
    case DimensionOperation::kSUM:
      return a + b;
    case DimensionOperation::kPROD:
      return a * b;
    case DimensionOperation::kMAX:
      return std::max(a, b);
    case DimensionOperation::kMIN:
      return std::min(a, b);
    case DimensionOperation::kSUB:
      return a - b;
    case DimensionOperation::kEQUAL:
      return a == b ? 1 : 0;
    case DimensionOperation::kLESS:
      return a < b ? 1 : 0;
    case DimensionOperation::kFLOOR_DIV:
      return b > 0 ? std::optional(a / b) : std::nullopt;
    case DimensionOperation::kCEIL_DIV:
      return b > 0 ? std::optional((a + b - 1) / b) : std::nullopt;
  }
  return std::nullopt;
}

}  // namespace

const Expression* ExpressionBuilder::make(Words words, std::optional<int64_t> constant) {
  expressions_.push_back(std::make_unique<Expression>(std::move(words), constant));
  return expressions_.back().get();
}

const IDimensionExpr* ExpressionBuilder::constant(int64_t value) noexcept {
  return make({0, value, 0}, value);
}

const IDimensionExpr* ExpressionBuilder::operation(DimensionOperation operation,
                                                   const IDimensionExpr& first,
                                                   const IDimensionExpr& second) noexcept {
  if (first.isConstant() && second.isConstant()) {
    const auto value = computed(operation, first.getConstantValue(), second.getConstantValue());
    return value.has_value() ? constant(*value) : nullptr;
  }
  Words words = static_cast<const Expression&>(first).words();
  const Words& other = static_cast<const Expression&>(second).words();
  words.insert(words.end(), other.begin(), other.end());
  words.insert(words.end(), {3, static_cast<int64_t>(operation), 0});
  return make(std::move(words), std::nullopt);
}

const IDimensionExpr* ExpressionBuilder::declareSizeTensor(int32_t, const IDimensionExpr&,
                                                           const IDimensionExpr&) {
  size_tensor_ = true;
  return nullptr;
}

nvinfer1::DimsExprs ExpressionBuilder::extents(int64_t input, const nvinfer1::Dims& dims) {
  nvinfer1::DimsExprs result{};
  result.nbDims = std::max(dims.nbDims, 0);
  for (int32_t i = 0; i < result.nbDims; ++i)
    result.d[i] = dims.d[i] >= 0 ? constant(dims.d[i]) : make({1, input, i}, std::nullopt);
  return result;
}

nvinfer1::DimsExprs ExpressionBuilder::elements(int64_t input, int32_t count) {
  nvinfer1::DimsExprs result{};
  result.nbDims = std::clamp(count, 0, nvinfer1::Dims::MAX_DIMS);
  for (int32_t i = 0; i < result.nbDims; ++i) result.d[i] = make({2, input, i}, std::nullopt);
  return result;
}

bool append_shape(Words& program, const nvinfer1::DimsExprs& extents) {
  if (extents.nbDims < 0 || extents.nbDims > nvinfer1::Dims::MAX_DIMS) return false;
  program.push_back(extents.nbDims);
  for (int32_t i = 0; i < extents.nbDims; ++i) {
    if (extents.d[i] == nullptr) return false;
    const Words& words = static_cast<const Expression*>(extents.d[i])->words();
    program.push_back(static_cast<int64_t>(words.size() / 3));
    program.insert(program.end(), words.begin(), words.end());
  }
  return true;
}

}  // namespace tenon::plugin
