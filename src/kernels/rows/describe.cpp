#include "kernels/rows/describe.h"

#include "ops/nn.h"

namespace tenon::cpu {

std::optional<UnarySteps> unary_steps(const AnchoredRegion& region) {
  UnarySteps steps;
  for (const RegionStep& step : region.steps) {
    if (step.operand >= 0) return std::nullopt;
    EpilogueStep unary;
    unary.function = step.function;
    unary.alpha = static_cast<float>(step.alpha);
    unary.beta = static_cast<float>(step.beta);
    steps.push_back(unary);
  }
  return steps;
}

bool is_vector_type(DataType type) {
  return type == DataType::kFloat32 || type == DataType::kBFloat16;
}

Result<AnchoredRegion> normalization_region(const Problem& problem, bool over_rows) {
  TENON_ASSIGN(AnchoredRegion region, anchored_region(problem));
  const auto* op = region.anchor.as<Normalization>();
  if (op == nullptr || op->over_rows() != over_rows)
    return unsupported("not {} normalization",
                       over_rows ? "a layer or RMS" : "an instance or group");
  if (problem.outputs.size() != 1) return unsupported("statistics are wanted");
  const DataType type = problem.input(region.anchor_inputs[0]).type;
  if (!is_vector_type(type) || problem.output().type != type)
    return unsupported("the type is neither f32 nor bf16");
  if (op->compute != DataType::kFloat32) return unsupported("statistics in another type than f32");
  if (!unary_steps(region)) return unsupported("an epilogue with operands");
  if (problem.output().count() == 0) return unsupported("an empty tensor");
  return region;
}

std::vector<float> to_floats(ElementType type, const void* values, int64_t count) {
  std::vector<float> result(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    if (type == ElementType::f32)
      result[i] = static_cast<const float*>(values)[i];
    else
      result[i] = __builtin_bit_cast(
          float, static_cast<uint32_t>(static_cast<const uint16_t*>(values)[i]) << 16);
  }
  return result;
}

}  // namespace tenon::cpu
