#include "ops/given_shape.h"

namespace tenon {

Result<Shape> given_shape(InferContext& context) {
  constexpr int64_t kMostAxes = 64;
  TENON_TRY(expect_rank(context.shape(0), 1, "the shape operand", context));
  auto target = context.elements(0);
  if (!target) {
    const Dim& length = context.shape(0)[0];
    if (!length.is_constant() || length.constant() > kMostAxes)
      return context.fail(
          "the rank of the result is data-dependent; give the shape operand a fixed length");
    target.emplace();
    for (int64_t i = 0; i < length.constant(); ++i)
      target->push_back(context.data_dependent(kUnbounded));
  }
  for (const Dim& extent : *target)
    if (extent.is_constant() && extent.constant() < 0)
      return context.fail(fmt::format("the shape {} has a negative extent", to_string(*target)));
  return *target;
}

Result<Extents> given_extents(const EvalContext& context) {
  TENON_ASSIGN(const auto target, integers_of(context, 0));
  return concrete(to_shape(target), context);
}

}  // namespace tenon
