#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "surface/implementation.h"

namespace tenon::plugin {

/// A plugin's output extents as numbers that the operator keeps (ops/structure.h, Plugin): for each
/// output the number of axes, for each axis the number of words and then the words of a postfix
/// expression, three numbers each: {0, value, 0}, {1, input, axis} (an input's extent), {2, input,
/// element} (an element of a shape input) or {3, DimensionOperation, 0}.
using Words = std::vector<int64_t>;

/// An expression under construction.
class Expression final : public surface::Implementation<nvinfer1::IDimensionExpr> {
 public:
  Expression(Words words, std::optional<int64_t> constant)
      : words_(std::move(words)), constant_(constant) {}
  bool isConstant() const noexcept override { return constant_.has_value(); }
  int64_t getConstantValue() const noexcept override { return constant_.value_or(INT64_MIN); }
  bool isSizeTensor() const noexcept override { return false; }
  const Words& words() const { return words_; }

 private:
  Words words_;
  std::optional<int64_t> constant_;
};

/// Makes and owns expressions.
class ExpressionBuilder final : public surface::Implementation<nvinfer1::IExprBuilder> {
 public:
  const nvinfer1::IDimensionExpr* constant(int64_t value) noexcept override;
  const nvinfer1::IDimensionExpr* operation(
      nvinfer1::DimensionOperation operation, const nvinfer1::IDimensionExpr& first,
      const nvinfer1::IDimensionExpr& second) noexcept override;
  /// Null: extents that the plugin only knows when it has run are not supported.
  const nvinfer1::IDimensionExpr* declareSizeTensor(int32_t outputIndex,
                                                    const nvinfer1::IDimensionExpr& opt,
                                                    const nvinfer1::IDimensionExpr& upper) override;

  /// An input's extents; -1 stands for one that is not constant.
  nvinfer1::DimsExprs extents(int64_t input, const nvinfer1::Dims& dims);
  /// The `count` elements of a shape input.
  nvinfer1::DimsExprs elements(int64_t input, int32_t count);
  bool asked_for_size_tensor() const { return size_tensor_; }

 private:
  const Expression* make(Words words, std::optional<int64_t> constant);
  std::vector<std::unique_ptr<Expression>> expressions_;
  bool size_tensor_ = false;
};

/// Appends an output's extents; false when one of them is null.
bool append_shape(Words& program, const nvinfer1::DimsExprs& extents);

}  // namespace tenon::plugin
