#include "kernels/epilogue/region_epilogue.h"

#include <algorithm>

#include "kernels/image.h"
#include "kernels/strides.h"

namespace tenon::cpu {
namespace {

/// Strides over the output's axes, 0 where the operand is repeated; nothing when it does not
/// broadcast to it.
std::optional<std::vector<int64_t>> broadcast_strides(const Operand& operand,
                                                      const Extents& output) {
  const size_t missing = output.size() - operand.extents.size();
  if (operand.extents.size() > output.size()) return std::nullopt;
  const std::vector<int64_t> own = strides_of(operand);
  std::vector<int64_t> strides(output.size(), 0);
  for (size_t i = missing; i < output.size(); ++i) {
    const int64_t extent = operand.extents[i - missing];
    if (extent != 1 && extent != output[i]) return std::nullopt;
    if (extent != 1) strides[i] = own[i - missing];
  }
  return strides;
}

/// Constants of one number a column are kept as floats.
void copy_columns(BoundStep& bound, const Operand& operand, int64_t columns) {
  if (operand.constant == nullptr || bound.step.operand != OperandKind::per_column) return;
  const Tensor& numbers = *operand.constant;
  if (numbers.type() == DataType::kFloat32) {
    const auto* first = reinterpret_cast<const float*>(numbers.bytes());
    bound.copy.assign(first, first + columns);
  } else {
    bound.copy.reserve(static_cast<size_t>(columns));
    for (int64_t i = 0; i < columns; ++i)
      bound.copy.push_back(static_cast<float>(numbers.as_double(i)));
  }
  bound.step.operand_type = ElementType::f32;
}

Result<BoundStep> begin_step(const Problem& problem, const RegionStep& step) {
  BoundStep bound;
  bound.step.function = step.function;
  bound.step.alpha = static_cast<float>(step.alpha);
  bound.step.beta = static_cast<float>(step.beta);
  bound.step.operand_first = step.value_is_second;
  bound.step.from = static_cast<uint8_t>(step.from);
  if (step.earlier >= 0) {
    bound.step.operand = OperandKind::earlier;
    bound.step.back = static_cast<uint8_t>(step.earlier);
  }
  bound.input = step.operand;
  const PointwiseInfo& info = pointwise_info(step.function);
  if (info.arity > 2 ||
      (info.category != PointwiseClass::arithmetic && info.category != PointwiseClass::real))
    return unsupported("{} in the epilogue", info.name);
  if (step.operand >= 0) {
    const std::optional<ElementType> type = element_type(problem.input(step.operand).type);
    if (!type) return unsupported("an operand of {} is neither f32 nor bf16", info.name);
    bound.step.operand_type = *type;
  }
  return bound;
}

}  // namespace

std::optional<std::vector<EpilogueStep>> take_functions(const Value*& value) {
  std::vector<EpilogueStep> steps;
  for (; value->producer() != nullptr && value->producer()->is<Pointwise>();
       value = value->producer()->input(0)) {
    if (value->producer()->inputs().size() != 1) return std::nullopt;
    const auto* function = value->producer()->as<Pointwise>();
    EpilogueStep step;
    step.function = function->function;
    step.alpha = static_cast<float>(function->alpha);
    step.beta = static_cast<float>(function->beta);
    steps.insert(steps.begin(), step);
  }
  return steps;
}

std::optional<ElementType> element_type(DataType type) {
  if (type == DataType::kFloat32) return ElementType::f32;
  if (type == DataType::kBFloat16) return ElementType::bf16;
  return std::nullopt;
}

Result<std::vector<BoundStep>> matrix_steps(const Problem& problem, const AnchoredRegion& region) {
  const Extents output = extents_of_steps(problem, region);
  const size_t rank = output.size();
  std::vector<BoundStep> steps;
  for (const RegionStep& step : region.steps) {
    TENON_ASSIGN(BoundStep bound, begin_step(problem, step));
    if (step.operand >= 0) {
      const Operand& operand = problem.input(step.operand);
      const auto strides = broadcast_strides(operand, output);
      if (!strides) return unsupported("an operand that does not broadcast to the output");
      const int64_t row = (*strides)[rank - 2], column = (*strides)[rank - 1];
      if (column > 1 || (column == 0 && row > 1))
        return unsupported("an operand whose columns lie apart");
      bound.step.operand = column == 1 ? (row == 0 ? OperandKind::per_column : OperandKind::full)
                                       : (row == 0 ? OperandKind::scalar : OperandKind::per_row);
      bound.row_stride = row;
      bound.outer_strides.assign(strides->begin(), strides->end() - 2);
      if (std::all_of(bound.outer_strides.begin(), bound.outer_strides.end(),
                      [](int64_t s) { return s == 0; }))
        copy_columns(bound, operand, output[rank - 1]);
    }
    steps.push_back(std::move(bound));
  }
  if (region.gate != nullptr) {
    TENON_ASSIGN(BoundStep gate, begin_step(problem, {.function = region.gate->function,
                                                      .alpha = region.gate->alpha,
                                                      .beta = region.gate->beta}));
    gate.step.gates = true;
    steps.push_back(std::move(gate));
  }
  return steps;
}

namespace {

/// One number a channel, the same in all images: for the channels of [1, C, 1, 1], [C, 1, 1] or a
/// bias.
bool is_per_channel(const Operand& operand, const Extents& output, bool own_bias) {
  const int axis = operand.rank() - static_cast<int>(output.size()) + 1;
  return operand.count() == output[1] &&
         (own_bias || (axis >= 0 && operand.extents[axis] == output[1]));
}

/// Numbers of each image: [N, C, 1, 1], or [N, 1, 1, 1].
bool is_per_image(const Operand& operand, const Extents& output) {
  return operand.rank() == static_cast<int>(output.size()) && operand.extents[0] == output[0] &&
         (operand.extents[1] == output[1] || operand.extents[1] == 1) &&
         operand.count() == operand.extents[0] * operand.extents[1] && operand.dense();
}

/// One image for all: [1, C, H, W].
bool is_one_image(const Operand& operand, const Extents& output) {
  Extents image = output;
  image[0] = 1;
  return operand.extents == image;
}

Status bind_image_operand(const Operand& operand, const Extents& output, bool own_bias,
                          BoundStep& bound, bool& one_by_one) {
  const auto pixels = pixel_stride(operand);
  if (operand.count() == 1) {
    bound.step.operand = OperandKind::scalar;
  } else if (is_per_channel(operand, output, own_bias)) {
    if (!operand.dense()) return unsupported("numbers a channel that lie apart");
    bound.step.operand = OperandKind::per_column;
    copy_columns(bound, operand, output[1]);
  } else if (is_per_image(operand, output)) {
    bound.image_stride = operand.extents[1];
    bound.step.operand = bound.image_stride == 1 ? OperandKind::scalar : OperandKind::per_column;
    one_by_one = true;
  } else if (pixels && (operand.extents == output || is_one_image(operand, output))) {
    bound.step.operand = OperandKind::full;
    bound.row_stride = *pixels;
    if (operand.extents == output)
      bound.image_stride = *pixels * operand.count() / (output[0] * output[1]);
    else
      one_by_one = true;
  } else {
    return unsupported(
        "an operand that is neither one number a channel nor a channels-last "
        "image like the output");
  }
  return {};
}

}  // namespace

Result<std::vector<BoundStep>> image_steps(const Problem& problem, const AnchoredRegion& region,
                                           int bias, bool& one_by_one) {
  std::vector<RegionStep> all;
  if (bias >= 0) all.push_back({PointwiseFunction::k_add, 0, 0, bias, false});
  all.insert(all.end(), region.steps.begin(), region.steps.end());
  std::vector<BoundStep> steps;
  one_by_one = false;
  for (size_t i = 0; i < all.size(); ++i) {
    TENON_ASSIGN(BoundStep bound, begin_step(problem, all[i]));
    if (all[i].operand >= 0)
      TENON_TRY(bind_image_operand(problem.input(all[i].operand), problem.output().extents,
                                   bias >= 0 && i == 0, bound, one_by_one));
    steps.push_back(std::move(bound));
  }
  return steps;
}

std::vector<EpilogueStep> plain_steps(const std::vector<BoundStep>& steps) {
  std::vector<EpilogueStep> plain;
  for (const BoundStep& bound : steps) plain.push_back(bound.step);
  return plain;
}

void bind_operands(const std::vector<BoundStep>& steps, const LaunchArguments& arguments,
                   EpilogueOperand* operands) {
  for (size_t i = 0; i < steps.size(); ++i) {
    operands[i].row_stride = steps[i].row_stride;
    if (!steps[i].copy.empty())
      operands[i].data = steps[i].copy.data();
    else
      operands[i].data = steps[i].input >= 0 ? arguments.inputs[steps[i].input] : nullptr;
  }
}

bool reads_input(const std::vector<BoundStep>& steps, int input) {
  return std::any_of(steps.begin(), steps.end(), [&](const BoundStep& bound) {
    return bound.input == input && bound.copy.empty();
  });
}

}  // namespace tenon::cpu
