#include "kernels/attention/problem_cuda.h"

#include <fmt/format.h>

#include <cmath>

#include "kernels/jit/plan.h"
#include "kernels/jit/sources.h"
#include "kernels/quantized_region.h"
#include "ops/math.h"
#include "ops/scalar_steps.h"
#include "ops/structure.h"

namespace tenon::attention {
namespace {

View view_of(const Operand& operand, int64_t heads, bool bsnh) {
  const Extents& e = operand.extents;
  const std::vector<int64_t> s = strides_of(operand);
  if (operand.rank() == 3)
    return {e[0], heads, e[1], e[2] / heads, s[0], e[2] / heads * s[2], s[1], s[2]};
  if (bsnh) return {e[0], e[2], e[1], e[3], s[0], s[2], s[1], s[3]};
  return {e[0], e[1], e[2], e[3], s[0], s[1], s[2], s[3]};
}

void add_view(KernelCode& code, std::string_view name, const View& view) {
  code.inner(fmt::format("k{}Batch", name), view.batch_step);
  code.inner(fmt::format("k{}Head", name), view.head_step);
  code.inner(fmt::format("k{}Position", name), view.position_step);
}

/// Strides of results. Where positions of all heads lie behind each other, none but the batch's
/// follows from the length.
void add_result_view(KernelCode& code, const View& view) {
  const bool is_dense = (view.heads == 1 || view.head_step == view.size) &&
                        view.position_step == view.heads * view.size &&
                        (view.batch == 1 || view.batch_step == view.length * view.position_step);
  if (!is_dense) return add_view(code, "Out", view);
  code.constant("kOutHead", view.size);
  code.constant("kOutPosition", view.position_step);
  code.inner_as("kOutBatch", view.batch_step, "Index(kQLength) * Index(kOutPosition)");
}

void add_mask(KernelCode& code, const Problem& problem) {
  const bool present = problem.has_input(kMask);
  code.type("Mask", present ? problem.input(kMask).type : DataType::kFloat32);
  int64_t steps[4] = {0, 0, 0, 0};
  if (present) {
    const Operand& mask = problem.input(kMask);
    const std::vector<int64_t> strides = strides_of(mask);
    for (int i = 0; i < mask.rank(); ++i)
      if (mask.extents[i] != 1) steps[i + 4 - mask.rank()] = strides[i];
  }
  const char* names[] = {"kMaskBatch", "kMaskHead", "kMaskQuery", "kMaskKey"};
  for (int i = 0; i < 4; ++i) present ? code.inner(names[i], steps[i]) : code.constant(names[i], 0);
  const bool boolean = present && problem.input(kMask).type == DataType::kBool;
  code.text(fmt::format("#define ATTENTION_MASK {}\n", !present ? 0 : boolean ? 1 : 2));
}

/// A function of one score or weight.
void add_steps(KernelCode& code, std::string_view name, const std::vector<std::string>& texts) {
  std::string body;
  for (const ScalarStep& step : parse_scalar_steps(texts).value_or(std::vector<ScalarStep>())) {
    const std::string number = device_real(step.number);
    body += fmt::format(
        "  {{\n    [[maybe_unused]] const T x = {}, y = {}, z = y, alpha = T({}), beta = T({});\n"
        "    s = T({});\n  }}\n",
        step.number_first ? number : "s", step.number_first ? "s" : number, device_real(step.alpha),
        device_real(step.beta), pointwise_info(step.function).formula);
  }
  code.text(
      fmt::format("__device__ inline float {}(float s) {{\n  typedef float T;\n{}  return s;\n}}\n",
                  name, body));
}

void add_rounding(KernelCode& code, const Attention& op) {
  const bool wide = op.weights_type == DataType::kFloat8E4M3;
  code.real("kWeightsStep", op.weights_step);
  code.real("kWeightsLimit", static_cast<double>(op.weights_limit));
  code.constant("kWeightsPlaces", op.weights_type == DataType::kInt8 ? 0 : wide ? 3 : 2);
  code.real("kWeightsLeast", wide ? 0x1p-6 : 0x1p-14);
}

/// The one number of an operand of the quantization.
Result<double> number_of(const Problem& problem, const Node& quantize, int index) {
  if (!quantize.has_input(index)) return 0.0;
  const int input = input_number(quantize.input(index));
  const Tensor* constant = input < 0 ? nullptr : problem.input(input).constant;
  if (constant == nullptr || constant->count() != 1)
    return unsupported("a scale or zero point that is not one known number");
  return constant->as_double(0);
}

/// Bytes, scale and zero point of an operand that the region dequantizes.
Status take_bytes(const Problem& problem, const Value* value, int operand, AttentionParts& parts) {
  TENON_ASSIGN(const QuantizedOperand bytes, quantized_operand(problem, value));
  const Node& dequantize = *value->producer();
  const auto at = static_cast<size_t>(operand);
  TENON_ASSIGN(parts.scales[at], number_of(problem, dequantize, 1));
  TENON_ASSIGN(parts.zeros[at], number_of(problem, dequantize, 2));
  parts.inputs[at] = bytes.input;
  return {};
}

/// Operands of attention inside of the region.
Status take_operands(const Problem& problem, const Node& attention, AttentionParts& parts) {
  parts.alone.inputs.assign(attention.inputs().size(), Operand{});
  for (int i = 0; i < static_cast<int>(attention.inputs().size()); ++i) {
    if (!attention.has_input(i)) continue;
    const Value* value = attention.input(i);
    if (i > kMask) return unsupported("a past or lengths of sequences are given");
    int& input = parts.inputs[static_cast<size_t>(i)];
    if (i < kMask && value->producer() != nullptr && value->producer()->is<Dequantize>()) {
      TENON_TRY(take_bytes(problem, value, i, parts));
    } else {
      input = input_number(value);
    }
    if (input < 0) return unsupported("an operand that is computed in the region");
    parts.alone.inputs[static_cast<size_t>(i)] = problem.input(input);
  }
  return {};
}

}  // namespace

const char* byte_type(DataType type) {
  if (type == DataType::kFloat8E4M3) return "e4m3";
  if (type == DataType::kFloat8E5M2) return "e5m2";
  return type == DataType::kInt8 || type == DataType::kUInt8 ? device_type(type) : nullptr;
}

const char* byte_product_type(DataType type) {
  if (type == DataType::kInt8) return "s8";
  return type == DataType::kUInt8 ? "u8" : byte_type(type);
}

Result<AttentionParts> attention_parts(const Problem& problem) {
  AttentionParts parts{.alone = problem};
  if (!problem.operation.is<Fused>()) return parts;
  const Graph& body = *problem.operation.bodies()[0];
  const Node* attention = nullptr;
  for (const auto& node : body.nodes())
    if (node->is<Attention>()) attention = node.get();
  if (attention == nullptr) return unsupported("no attention in the region");
  if (body.outputs().size() != 1) return unsupported("more than the result is wanted");
  const Node* last = body.outputs()[0]->producer();
  if (last != attention) parts.quantize = last;
  if (last != attention && (!last->is<Quantize>() || last->input(0) != attention->output()))
    return unsupported("{} behind attention", last->op->name());
  parts.alone.operation = *attention;
  parts.alone.outputs[0].type = attention->output()->type.type;
  TENON_TRY(take_operands(problem, *attention, parts));
  return parts;
}

Status add_result(KernelCode& code, const Problem& problem, const AttentionParts& parts) {
  const Node* quantize = parts.quantize;
  code.text(fmt::format("#define QUANTIZES {}\n", quantize != nullptr ? 1 : 0));
  const DataType type = problem.output().type;
  TENON_ASSIGN(const std::string types, device_source("jit/bytes.cuh"));
  if (quantize == nullptr) {
    if (byte_type(parts.alone.input(kQ).type) != nullptr) code.text(types);
    code.type("Y", type);
    return {};
  }
  if (byte_type(type) == nullptr) return unsupported("quantization to {}", name_of(type));
  TENON_ASSIGN(const double scale, number_of(problem, *quantize, 1));
  TENON_ASSIGN(const double zero, number_of(problem, *quantize, 2));
  if (!(scale > 0)) return unsupported("a scale that is not above 0");
  // Integers are places between the least and the greatest one.
  double width = 1, low = 0;
  if (is_integer(type)) {
    const double least = type == DataType::kInt8 ? -128 : 0;
    width = 255, low = least - zero;
    code.text(fmt::format("#define BYTE_RANGE 255.0f\n#define BYTE_START float({})\n",
                          device_real(12582912 + least)));
  }
  code.text(types);
  code.alias("Y", byte_type(type));
  code.text(
      fmt::format("__device__ inline float quantized(float v) {{\n  return fmaf(v, float({}), "
                  "float({}));\n}}\n",
                  device_real(1 / scale / width), device_real(-low / width)));
  return {};
}

Result<DeviceAttention> describe(const Problem& problem) {
  DeviceAttention d;
  d.op = problem.operation.as<Attention>();
  if (d.op == nullptr) return unsupported("not attention");
  if (problem.outputs.size() > 1) return unsupported("more than the result is wanted");
  for (int i = kMask + 1; i < static_cast<int>(problem.inputs.size()); ++i)
    if (problem.has_input(i)) return unsupported("a past or lengths of sequences are given");
  d.of_bytes = byte_type(problem.input(kQ).type) != nullptr;
  for (const int i : {kQ, kK, kV}) {
    const DataType type = problem.input(i).type;
    if (d.of_bytes ? byte_type(type) == nullptr : type != problem.output().type)
      return unsupported("several types");
  }
  if (wide_type(problem.output().type) != std::string_view("f32"))
    return unsupported("type {}; takes f32, f16, bf16", name_of(problem.output().type));
  d.q = view_of(problem.input(kQ), d.op->q_heads, d.op->q_bsnh);
  d.k = view_of(problem.input(kK), d.op->kv_heads, d.op->k_bsnh);
  d.v = view_of(problem.input(kV), d.op->kv_heads, d.op->v_bsnh);
  d.out = view_of(problem.output(), d.q.heads, d.op->out_bsnh);
  for (const View* view : {&d.q, &d.k, &d.v, &d.out})
    if (view->element_step != 1 && view->size != 1)
      return unsupported("the elements of a head are not contiguous");
  if (d.q.heads > 65535 || d.q.batch > 65535)
    return unsupported("{} heads in a batch of {}; takes 65535 of each", d.q.heads, d.q.batch);
  if (!problem.has_input(kMask)) return d;
  const Operand& mask = problem.input(kMask);
  if (mask.rank() > 4 || device_type(mask.type) == nullptr)
    return unsupported("a mask of {} axes and type {}; takes 4 axes", mask.rank(),
                       name_of(mask.type));
  if (mask.type != DataType::kBool && !is_real(mask.type))
    return unsupported("a mask of type {}; takes bool and real types", name_of(mask.type));
  if (mask.rank() > 0 && mask.extents.back() != 1 && mask.extents.back() != d.k.length)
    return unsupported("a mask shorter than the keys");
  return d;
}

Status check_limits(DeviceKernel kernel, const Problem& problem, const DeviceAttention& d) {
  struct Limits {
    int least, greatest, bytes;
    int64_t q_size, v_size, multiple;
    bool rounds, takes_bytes;
  };
  constexpr Limits kLimits[] = {
#define TENON_ATTENTION_LIMITS(kernel, ...) {__VA_ARGS__},
#include "kernels/attention/limits_cuda.def"
  };
  const Limits& limits = kLimits[static_cast<size_t>(kernel)];
  const int sm = capability_of(problem);
  if (sm < limits.least) return unsupported("its instructions need sm_{}", limits.least);
  if (sm > limits.greatest)
    return unsupported("its instructions are those of sm_{}a", limits.greatest);
  if (limits.bytes != 0 && byte_size(problem.output().type) != limits.bytes)
    return unsupported("the type is neither f16 nor bf16");
  if (d.q.size > limits.q_size) return unsupported("heads of more than {} elements", limits.q_size);
  if (d.v.size > limits.v_size)
    return unsupported("heads of values of more than {} elements", limits.v_size);
  if (d.q.size % limits.multiple != 0 || d.v.size % limits.multiple != 0)
    return unsupported("heads of no multiple of {} elements", limits.multiple);
  if (d.of_bytes && !limits.takes_bytes) return unsupported("operands of 8 bits");
  if (d.op->weights_step > 0 && !limits.rounds) return unsupported("weights that are rounded");
  if (!d.op->masked_steps.empty() && !limits.rounds)
    return unsupported("functions of scores with their masks");
  return {};
}

KernelCode begin_attention(const Problem& problem, const DeviceAttention& d, double unit) {
  KernelCode code = begin_code(problem);
  code.type("X", problem.output().type);
  code.round_to(problem.output().type);
  code.inner("kQLength", d.q.length);
  code.inner("kKvLength", d.k.length);
  add_mask(code, problem);
  add_result_view(code, d.out);
  code.constant("kHeads", d.q.heads);
  code.constant("kKvHeads", d.k.heads);
  code.constant("kSize", d.q.size);
  code.constant("kValueSize", d.v.size);
  const double scale =
      d.op->scale != 0 ? d.op->scale : 1 / std::sqrt(static_cast<double>(d.q.size));
  code.real("kScale", scale * unit);
  code.real("kSoftcap", d.op->softcap);
  code.flag("kCausal", d.op->causal != CausalMask::kNone);
  if (d.op->causal == CausalMask::kLowerRight)
    code.inner("kDiagonal", d.k.length - d.q.length);
  else
    code.constant("kDiagonal", 0);
  code.flag("kMaskedRowsZero", d.op->masked_rows_zero);
  add_rounding(code, *d.op);
  code.constant("kScoreSteps", static_cast<int64_t>(d.op->score_steps.size()));
  code.flag("kMaskedSteps", !d.op->masked_steps.empty());
  add_steps(code, "score_steps", d.op->score_steps);
  add_steps(code, "masked_steps", d.op->masked_steps);
  add_steps(code, "weight_steps", d.op->weight_steps);
  return code;
}

void add_addresses(KernelCode& code, const DeviceAttention& d) {
  add_view(code, "Q", d.q);
  add_view(code, "K", d.k);
  add_view(code, "V", d.v);
}

/// Steps and addresses are multiples of `elements`.
bool steps_divide(const View& view, const Operand& operand, int64_t elements) {
  const auto divides = [&](int64_t extent, int64_t step) {
    return extent == 1 || step % elements == 0;
  };
  return view.size % elements == 0 && divides(view.batch, view.batch_step) &&
         divides(view.heads, view.head_step) && divides(view.length, view.position_step) &&
         alignment_in_elements(operand) % elements == 0;
}

}  // namespace tenon::attention
