#include "network/scaling.h"

#include "ops/math.h"
#include "ops/structure.h"

namespace tenon::network {

const Tensor* number_of(const Value* value) {
  while (value != nullptr && value->producer() != nullptr && value->producer()->is<Identity>())
    value = value->producer()->input(0);
  const Tensor* tensor = value == nullptr ? nullptr : value->constant();
  return tensor != nullptr && tensor->count() == 1 ? tensor : nullptr;
}

namespace {

bool same_number(const Value* a, const Value* b) {
  if (a == b) return true;
  const Tensor *x = number_of(a), *y = number_of(b);
  return x != nullptr && y != nullptr && x->type() == y->type() &&
         x->as_double(0) == y->as_double(0);
}

}  // namespace

Scaling scaling_of(const Node& node) {
  const bool quantizes = node.is<Quantize>() && node.as<Quantize>()->to == DataType::kInt8;
  const bool back = node.is<Dequantize>() && node.input(0)->type.type == DataType::kInt8;
  if ((!quantizes && !back) || number_of(node.input(1)) == nullptr) return {};
  return {node.input(1), node.input(2)};
}

Scaling scaling_of_readers(const Value& value) {
  Scaling common;
  for (const Use& use : value.uses()) {
    const Scaling one = use.index == 0 ? scaling_of(*use.node) : Scaling{};
    if (one.scale == nullptr) return {};
    if (common.scale == nullptr) common = one;
    if (!same_number(one.scale, common.scale) || !same_number(one.zero, common.zero)) return {};
  }
  return common;
}

}  // namespace tenon::network
