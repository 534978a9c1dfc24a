#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.h"
#include "surface/implementation.h"

namespace tenon::plugin {

/// A plugin's output extents as numbers that the operator keeps (ops/structure.h, Plugin): for each
/// output the number of axes, for each axis the number of words and then the words of a postfix
/// expression, three numbers each: {0, value, 0}, {1, input, axis} (an input's extent), {2, input,
/// element} (an element of a shape input), {3, DimensionOperation, 0} or, behind its upper bound,
/// {4, output, 0} (the number that this output holds when the plugin has run).
using Words = std::vector<int64_t>;
inline constexpr int64_t kSizeWord = 4;

/// Extents of all outputs. `sizes`: of each output the number that it holds, or empty for the upper
/// bounds. An error where the program is damaged.
Result<std::vector<std::vector<int64_t>>> shapes_of(const Words& program,
                                                    std::span<const std::vector<int64_t>> inputs,
                                                    std::span<const std::optional<int64_t>> sizes);
/// The same with -1 for extents that are not constant.
std::vector<std::vector<int64_t>> constant_shapes(const Words& program);
/// The outputs whose numbers extents are.
std::vector<int64_t> size_outputs(const Words& program);
/// Sets the extents that only the run tells to -1.
void open_sizes(const Words& program, std::span<std::vector<int64_t>> shapes);

/// An expression under construction.
class Expression final : public surface::Implementation<nvinfer1::IDimensionExpr> {
 public:
  Expression(Words words, std::optional<int64_t> constant, bool is_size = false)
      : words_(std::move(words)), constant_(constant), is_size_(is_size) {}
  bool isConstant() const noexcept override { return constant_.has_value(); }
  int64_t getConstantValue() const noexcept override { return constant_.value_or(INT64_MIN); }
  bool isSizeTensor() const noexcept override { return is_size_; }
  const Words& words() const { return words_; }

 private:
  Words words_;
  std::optional<int64_t> constant_;
  bool is_size_;
};

/// Makes and owns expressions: null for operations and outputs that there are not, for numbers that
/// do not exist and for expressions of more than 65536 words, which plugins double by a line.
class ExpressionBuilder final : public surface::Implementation<nvinfer1::IExprBuilder> {
 public:
  /// `outputs`: how many the plugin has.
  explicit ExpressionBuilder(int32_t outputs) : outputs_(outputs) {}

  const nvinfer1::IDimensionExpr* constant(int64_t value) noexcept override;
  const nvinfer1::IDimensionExpr* operation(
      nvinfer1::DimensionOperation operation, const nvinfer1::IDimensionExpr& first,
      const nvinfer1::IDimensionExpr& second) noexcept override;
  /// An extent that an output of the plugin's holds when it has run.
  const nvinfer1::IDimensionExpr* declareSizeTensor(int32_t outputIndex,
                                                    const nvinfer1::IDimensionExpr& opt,
                                                    const nvinfer1::IDimensionExpr& upper) override;

  /// An input's extents; -1 stands for one that is not constant.
  nvinfer1::DimsExprs extents(int64_t input, const nvinfer1::Dims& dims);
  /// The `count` elements of a shape input.
  nvinfer1::DimsExprs elements(int64_t input, int32_t count);

 private:
  const Expression* make(Words words, std::optional<int64_t> constant, bool is_size = false);

  int32_t outputs_;
  std::vector<std::unique_ptr<Expression>> expressions_;
};

/// Appends an output's extents; false when one of them is null.
bool append_shape(Words& program, const nvinfer1::DimsExprs& extents);

}  // namespace tenon::plugin
