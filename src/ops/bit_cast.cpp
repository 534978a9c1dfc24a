#include <cstring>

#include "ops/math.h"
#include "ops/table.h"

namespace tenon {

Status infer(const BitCast& op, InferContext& context) {
  if (byte_size(op.to) != byte_size(context.input(0).type))
    return context.fail(fmt::format("{} has another size", name_of(op.to)));
  return context.finish(op.to, context.shape(0));
}

Status evaluate(const BitCast& op, EvalContext& context) {
  const Tensor& x = context.input(0);
  Tensor& y = context.make_output(0, op.to, x.extents());
  if (x.byte_count() > 0)
    std::memcpy(y.mutable_bytes(), x.bytes(), static_cast<size_t>(x.byte_count()));
  return {};
}

}  // namespace tenon
