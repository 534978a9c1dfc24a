// Tensors made from a few numbers, and quantization, on NVIDIA GPUs: each element by itself.
#include <fmt/format.h>

#include "kernels/jit/tactic.h"
#include "kernels/movement/pick_cuda.h"
#include "ops/fill_value.h"
#include "ops/math.h"

namespace tenon::tactics {
namespace cuda_elements {
namespace {

int64_t resolved(int64_t axis, int rank) {
  return axis < 0 ? axis + rank : axis;
}

Elements range() {
  return {"  value = Value(widen(start[0]) + Value(c0) * widen(delta[0]));\n",
          {{"start", 0}, {"delta", 2}}};
}

Elements one_hot(const Problem& problem, const OneHot& op) {
  const Operand &indices = problem.input(0), &y = problem.output();
  const int axis = static_cast<int>(resolved(op.axis, y.rank()));
  std::string place = "0";
  const std::vector<int64_t> strides = strides_of(indices);
  for (int i = 0; i < indices.rank(); ++i)
    place += fmt::format(" + c{} * i64({})", i < axis ? i : i + 1, strides[i]);
  return {fmt::format("  i64 hot = i64(widen(indices[{}]));\n  if (hot < 0) hot += {};\n"
                      "  value = widen(values[hot == c{} ? {} : 0]);\n",
                      place, y.extents[axis], axis, strides_of(problem.input(2))[0]),
          {{"indices", 0}, {"values", 2}}};
}

Elements eye_like(const EyeLike& op) {
  return {fmt::format("  value = Value(c1 - c0 == i64({}) ? 1 : 0);\n", op.k), {}};
}

Elements fill(const Fill& op) {
  const Tensor value = fill_value(op);
  const std::string number = is_real(value.type())
                                 ? device_real(value.as_double(0))
                                 : fmt::format("{}ull", static_cast<uint64_t>(value.as_int64(0)));
  return {fmt::format("  value = Value({});\n", number), {}};
}

/// Numbers that a quantized type holds.
Result<std::pair<int64_t, int64_t>> limits(DataType type) {
  switch (type) {
    case DataType::kInt8: return std::pair<int64_t, int64_t>{-128, 127};
    case DataType::kUInt8: return std::pair<int64_t, int64_t>{0, 255};
    case DataType::kInt16: return std::pair<int64_t, int64_t>{-32768, 32767};
    case DataType::kUInt16: return std::pair<int64_t, int64_t>{0, 65535};
    case DataType::kInt4: return std::pair<int64_t, int64_t>{-8, 7};
    case DataType::kUInt4: return std::pair<int64_t, int64_t>{0, 15};
    default: return unsupported("quantization to {}", name_of(type));
  }
}

/// Where the scale of an element lies.
Result<std::string> scale_place(const Problem& problem, int64_t axis, int64_t block) {
  const Operand &x = problem.input(0), &scale = problem.input(1);
  for (int i = 1; i < 3; ++i)
    if (problem.has_input(i) && !problem.input(i).dense()) return unsupported("scales with gaps");
  if (scale.count() == 1 && block == 0) return std::string("0");
  const int at = static_cast<int>(resolved(axis, x.rank()));
  if (block == 0) return fmt::format("c{}", at);
  std::string place = "0";
  const std::vector<int64_t> strides = strides_of(scale);
  for (int i = 0; i < x.rank(); ++i)
    place += fmt::format(" + c{}{} * i64({})", i, i == at ? fmt::format(" / {}", block) : "",
                         strides[i]);
  return place;
}

Result<Elements> quantize(const Problem& problem, const Quantize& op) {
  TENON_ASSIGN(const std::string scale, scale_place(problem, op.axis, op.block_size));
  TENON_ASSIGN(const auto range, limits(problem.output().type));
  const bool zero = problem.has_input(2);
  Elements elements{
      fmt::format("  const i64 s = {};\n  float q = rintf(float(widen(x[{}])) / "
                  "float(widen(scale[s])));\n{}"
                  "  value = saturate<Value>(double(q), {}.0, {}.0);\n",
                  scale, place_code(problem.input(0), 0, problem.input(0).rank()),
                  zero ? "  q += float(widen(zero[s]));\n" : "", range.first, range.second),
      {{"x", 0}, {"scale", 1}}};
  if (zero) elements.operands.push_back({"zero", 2});
  return elements;
}

Result<Elements> dequantize(const Problem& problem, const Dequantize& op) {
  TENON_ASSIGN(const std::string scale, scale_place(problem, op.axis, op.block_size));
  const bool zero = problem.has_input(2);
  Elements elements{fmt::format("  const i64 s = {};\n  value = "
                                "Value(float(double(widen(x[{}])){}) * float(widen(scale[s])));\n",
                                scale, place_code(problem.input(0), 0, problem.input(0).rank()),
                                zero ? " - double(widen(zero[s]))" : ""),
                    {{"x", 0}, {"scale", 1}}};
  if (zero) elements.operands.push_back({"zero", 2});
  return elements;
}

Result<Elements> describe(const Problem& problem) {
  const Operation& node = problem.operation;
  if (node.is<RangeOf>()) return range();
  if (const auto* op = node.as<OneHot>()) return one_hot(problem, *op);
  if (const auto* op = node.as<EyeLike>()) return eye_like(*op);
  if (const auto* op = node.as<Fill>()) return fill(*op);
  if (const auto* op = node.as<Quantize>()) return quantize(problem, *op);
  if (const auto* op = node.as<Dequantize>()) return dequantize(problem, *op);
  return unsupported("not made element by element");
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Elements elements, describe(problem));
  return plan_elements(problem, elements);
}

}  // namespace
}  // namespace cuda_elements

TENON_JIT_TACTIC(cuda_elements, single_config)

}  // namespace tenon::tactics
