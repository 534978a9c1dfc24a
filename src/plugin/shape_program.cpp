#include "plugin/shape_program.h"

#include <algorithm>

namespace tenon::plugin {
namespace {

using nvinfer1::DimensionOperation;
using nvinfer1::IDimensionExpr;

constexpr size_t kMostWords = 65536;

bool exists(DimensionOperation operation) {
  const auto number = static_cast<int64_t>(operation);
  return number >= 0 && number < nvinfer1::EnumMax<DimensionOperation>();
}

/// Nothing where the number does not exist or has more than 64 bits.
std::optional<int64_t> computed(DimensionOperation operation, int64_t a, int64_t b) {
  int64_t result = 0;
  const auto unless = [&](bool overflows) {
    return overflows ? std::nullopt : std::optional(result);
  };
  switch (operation) {
    case DimensionOperation::kSUM: return unless(__builtin_add_overflow(a, b, &result));
    case DimensionOperation::kPROD: return unless(__builtin_mul_overflow(a, b, &result));
    case DimensionOperation::kMAX: return std::max(a, b);
    case DimensionOperation::kMIN: return std::min(a, b);
    case DimensionOperation::kSUB: return unless(__builtin_sub_overflow(a, b, &result));
    case DimensionOperation::kEQUAL: return a == b ? 1 : 0;
    case DimensionOperation::kLESS: return a < b ? 1 : 0;
    case DimensionOperation::kFLOOR_DIV: return b > 0 ? std::optional(a / b) : std::nullopt;
    case DimensionOperation::kCEIL_DIV:
      return b > 0 ? std::optional(a / b + (a % b > 0 ? 1 : 0)) : std::nullopt;
  }
  return std::nullopt;
}

/// Plugins call the builder, and nothing may be thrown through them: without memory it gives null.
template <class F> const IDimensionExpr* or_null(F&& f) noexcept {
  try {
    return f();
  } catch (...) {
    return nullptr;
  }
}

}  // namespace

const Expression* ExpressionBuilder::make(Words words, std::optional<int64_t> constant,
                                          bool is_size) {
  if (words.size() > kMostWords) return nullptr;
  expressions_.push_back(std::make_unique<Expression>(std::move(words), constant, is_size));
  return expressions_.back().get();
}

const IDimensionExpr* ExpressionBuilder::constant(int64_t value) noexcept {
  return or_null([&] { return make({0, value, 0}, value); });
}

const IDimensionExpr* ExpressionBuilder::operation(DimensionOperation operation,
                                                   const IDimensionExpr& first,
                                                   const IDimensionExpr& second) noexcept {
  if (!exists(operation)) return nullptr;
  if (first.isConstant() && second.isConstant()) {
    const auto value = computed(operation, first.getConstantValue(), second.getConstantValue());
    return value.has_value() ? constant(*value) : nullptr;
  }
  return or_null([&] {
    Words words = static_cast<const Expression&>(first).words();
    const Words& other = static_cast<const Expression&>(second).words();
    words.insert(words.end(), other.begin(), other.end());
    words.insert(words.end(), {3, static_cast<int64_t>(operation), 0});
    return make(std::move(words), std::nullopt);
  });
}

const IDimensionExpr* ExpressionBuilder::declareSizeTensor(int32_t output, const IDimensionExpr&,
                                                           const IDimensionExpr& upper) {
  if (output < 0 || output >= outputs_ || upper.isSizeTensor()) return nullptr;
  return or_null([&] {
    Words words = static_cast<const Expression&>(upper).words();
    words.insert(words.end(), {kSizeWord, output, 0});
    return make(std::move(words), std::nullopt, true);
  });
}

nvinfer1::DimsExprs ExpressionBuilder::extents(int64_t input, const nvinfer1::Dims& dims) {
  nvinfer1::DimsExprs result{};
  result.nbDims = std::max(dims.nbDims, 0);
  for (int32_t i = 0; i < result.nbDims; ++i)
    result.d[i] =
        dims.d[i] >= 0 ? make({0, dims.d[i], 0}, dims.d[i]) : make({1, input, i}, std::nullopt);
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

namespace {

/// One expression, with all that it reads known.
Result<int64_t> value_of(std::span<const int64_t> words,
                         std::span<const std::vector<int64_t>> inputs,
                         std::span<const std::optional<int64_t>> sizes) {
  std::vector<int64_t> stack;
  for (size_t i = 0; i + 3 <= words.size(); i += 3) {
    const auto first = static_cast<size_t>(words[i + 1]),
               second = static_cast<size_t>(words[i + 2]);
    if (words[i] == 0) {
      stack.push_back(words[i + 1]);
    } else if (words[i] == 1 && first < inputs.size() && second < inputs[first].size()) {
      stack.push_back(inputs[first][second]);
    } else if (words[i] == 3 && stack.size() >= 2) {
      const int64_t b = stack.back();
      stack.pop_back();
      const auto value = computed(static_cast<DimensionOperation>(words[i + 1]), stack.back(), b);
      if (!value) return user_error("an extent of the plugin is no number");
      stack.back() = *value;
    } else if (words[i] == kSizeWord && !stack.empty()) {
      if (first < sizes.size() && sizes[first])
        stack.back() = std::clamp<int64_t>(*sizes[first], 0, stack.back());
    } else {
      return user_error(
          "an extent of the plugin depends on what only the run of another layer gives");
    }
  }
  if (stack.size() != 1) return user_error("an extent of the plugin is no expression");
  return stack[0];
}

}  // namespace

Result<std::vector<std::vector<int64_t>>> shapes_of(const Words& program,
                                                    std::span<const std::vector<int64_t>> inputs,
                                                    std::span<const std::optional<int64_t>> sizes) {
  std::vector<std::vector<int64_t>> shapes;
  for (size_t at = 0; at < program.size();) {
    std::vector<int64_t>& shape = shapes.emplace_back();
    for (int64_t axes = program[at++]; axes > 0 && at < program.size(); --axes) {
      const auto words = static_cast<size_t>(program[at++]) * 3;
      if (words > program.size() - at) return user_error("the plugin's shapes are cut off");
      TENON_ASSIGN(const int64_t extent,
                   value_of(std::span(program).subspan(at, words), inputs, sizes));
      shape.push_back(extent);
      at += words;
    }
  }
  return shapes;
}

std::vector<std::vector<int64_t>> constant_shapes(const Words& program) {
  std::vector<std::vector<int64_t>> shapes;
  for (size_t at = 0; at < program.size();) {
    std::vector<int64_t>& shape = shapes.emplace_back();
    for (int64_t axes = program[at++]; axes > 0 && at < program.size(); --axes) {
      const int64_t words = program[at++];
      // The builder makes one word of an expression of constants.
      const bool constant = words == 1 && at + 1 < program.size() && program[at] == 0;
      shape.push_back(constant ? program[at + 1] : -1);
      at += static_cast<size_t>(words) * 3;
    }
  }
  return shapes;
}

namespace {

/// Calls visit(output, axis, size) for each extent that an output of that number holds after the
/// run.
template <typename Visit> void for_each_size(const Words& program, Visit&& visit) {
  size_t output = 0;
  for (size_t at = 0; at < program.size(); ++output) {
    const int64_t axes = program[at++];
    for (int64_t axis = 0; axis < axes && at < program.size(); ++axis) {
      const size_t end = std::min(program.size(), at + 1 + static_cast<size_t>(program[at]) * 3);
      for (++at; at + 3 <= end; at += 3)
        if (program[at] == kSizeWord) visit(output, static_cast<size_t>(axis), program[at + 1]);
    }
  }
}

}  // namespace

std::vector<int64_t> size_outputs(const Words& program) {
  std::vector<int64_t> outputs;
  for_each_size(program, [&](size_t, size_t, int64_t size) { outputs.push_back(size); });
  return outputs;
}

void open_sizes(const Words& program, std::span<std::vector<int64_t>> shapes) {
  for_each_size(program, [&](size_t output, size_t axis, int64_t) {
    if (output < shapes.size() && axis < shapes[output].size()) shapes[output][axis] = -1;
  });
}

}  // namespace tenon::plugin
