// Shapes of plugins' outputs, from the expressions that the plugins gave when they were added.
#include <set>

#include "ops/context.h"
#include "ops/shapes.h"
#include "ops/structure.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Whether numbers follow from an input of the graph, which becomes one of shapes where a profile
/// has values for it.
bool may_get_elements(const Value* value) {
  std::set<const Value*> seen;
  std::vector<const Value*> open = {value};
  while (!open.empty()) {
    const Value* const next = open.back();
    open.pop_back();
    if (next == nullptr || !seen.insert(next).second) continue;
    if (next->producer() == nullptr) return true;
    open.insert(open.end(), next->producer()->inputs().begin(), next->producer()->inputs().end());
  }
  return false;
}

/// Reads the postfix expressions of Plugin::output_shapes.
class ShapeReader {
 public:
  ShapeReader(const Plugin& op, InferContext& context)
      : words_(op.output_shapes), context_(context) {}

  Result<Shape> shape() {
    TENON_ASSIGN(const int64_t axes, next());
    Shape shape;
    for (int64_t i = 0; i < axes; ++i) {
      TENON_ASSIGN(Dim extent, expression());
      shape.push_back(std::move(extent));
    }
    return shape;
  }

 private:
  Result<int64_t> next() {
    if (position_ >= words_.size()) return context_.fail("the plugin's shapes are cut off");
    return words_[position_++];
  }

  Result<Dim> expression() {
    TENON_ASSIGN(const int64_t count, next());
    std::vector<Dim> stack;
    for (int64_t i = 0; i < count; ++i) TENON_TRY(word(stack));
    if (stack.size() != 1) return context_.fail("an extent of the plugin is no expression");
    return stack[0];
  }

  Status word(std::vector<Dim>& stack) {
    TENON_ASSIGN(const int64_t kind, next());
    TENON_ASSIGN(const int64_t first, next());
    TENON_ASSIGN(const int64_t second, next());
    if (kind == 0) {
      stack.emplace_back(first);
      return {};
    }
    if (kind == 1 || kind == 2) {
      TENON_ASSIGN(Dim operand, of_input(kind, first, second));
      stack.push_back(std::move(operand));
      return {};
    }
    if (kind == 4 && !stack.empty()) {  // Above it lies its upper bound.
      stack.back() = context_.data_dependent(stack.back());
      return {};
    }
    if (kind != 3 || stack.size() < 2) return context_.fail("an extent of the plugin is damaged");
    const Dim b = stack.back();
    stack.pop_back();
    TENON_ASSIGN(stack.back(), computed(first, stack.back(), b));
    return {};
  }

  Result<Dim> of_input(int64_t kind, int64_t input, int64_t index) {
    const bool exists = input >= 0 && input < context_.input_count() &&
                        context_.has_input(static_cast<int>(input)) && index >= 0;
    if (exists && kind == 1 && index < context_.rank(static_cast<int>(input)))
      return context_.shape(static_cast<int>(input))[static_cast<size_t>(index)];
    const auto elements =
        exists && kind == 2 ? context_.elements(static_cast<int>(input)) : std::nullopt;
    if (elements && index < static_cast<int64_t>(elements->size()))
      return (*elements)[static_cast<size_t>(index)];
    if (exists && kind == 2 && !elements &&
        may_get_elements(context_.node().input(static_cast<int>(input))))
      return context_.data_dependent(kUnbounded);
    return context_.fail("an extent of the plugin depends on an input that does not give it");
  }

  /// Operations are numbered as DimensionOperation.
  Result<Dim> computed(int64_t operation, const Dim& a, const Dim& b) const {
    const bool constant = a.is_constant() && b.is_constant();
    switch (operation) {
      case 0: return a + b;
      case 1: return a * b;
      case 2: return max(a, b);
      case 3: return min(a, b);
      case 4: return a - b;
      case 5:
        if (constant) return Dim(a == b ? 1 : 0);
        break;
      case 6:
        if (constant) return Dim(a.constant() < b.constant() ? 1 : 0);
        break;
      case 7: return floor_div(a, b);
      case 8: return ceil_div(a, b);
    }
    return context_.fail("comparisons of extents need constant ones");
  }

  const std::vector<int64_t>& words_;
  InferContext& context_;
  size_t position_ = 0;
};

}  // namespace

Status infer(const Plugin& op, InferContext& context) {
  if (op.output_types.empty()) return {};  // Whoever added it set the types.
  if (static_cast<int>(op.output_types.size()) != context.output_count())
    return context.fail("the plugin has another number of outputs");
  ShapeReader reader(op, context);
  for (int i = 0; i < context.output_count(); ++i) {
    TENON_ASSIGN(Shape shape, reader.shape());
    context.set_output(i, static_cast<DataType>(op.output_types[static_cast<size_t>(i)]),
                       std::move(shape));
  }
  return {};
}

}  // namespace tenon
