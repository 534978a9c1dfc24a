#include "kernels/quantized/device_region_cuda.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/float_formats.h"
#include "kernels/image.h"
#include "kernels/jit/sources.h"
#include "ops/math.h"
#include "ops/nn.h"

namespace tenon {
namespace {

using enum PointwiseFunction;

constexpr int64_t kWidestTile = 256;
/// The float of whose bits the second byte is a number's.
constexpr double kByteStart = 32768;

double number_at(const Problem& problem, int input, int64_t index = 0) {
  const Tensor& tensor = *problem.input(input).constant;
  return tensor.as_double(tensor.count() == 1 ? 0 : index);
}

Status check_types(const Problem& problem, const QuantizedRegion& region) {
  const DataType x = problem.input(region.x).type, w = problem.input(region.weights).type;
  const DataType y = problem.output().type;
  if (matrix_type_name(x) == nullptr || matrix_type_name(w) == nullptr ||
      is_float8(x) != is_float8(w))
    return unsupported("operands that are not both integers or both floats of 8 bits");
  if (quantized_type_name(y) == nullptr) return unsupported("results of {}", name_of(y));
  if ((byte_size(y) == 1) != region.output.has_value())
    return unsupported("the type of the result");
  if (problem.input(region.weights).constant == nullptr)
    return unsupported("the weights are not constant");
  if (problem.input(region.x).count() == 0) return unsupported("an empty tensor");
  return {};
}

Status describe_convolution(const Problem& problem, const Conv& conv, DeviceQuantized& d) {
  const Operand &x = problem.input(d.region.x), &w = problem.input(d.region.weights);
  const Operand& y = problem.output();
  if (conv.groups != 1) return unsupported("{} groups", conv.groups);
  if (y.rank() != x.rank() || y.extents[0] != x.extents[0] || y.extents[1] != w.extents[0])
    return unsupported("the epilogue broadcasts");
  const std::vector<int64_t> kernel(w.extents.begin() + 2, w.extents.end());
  TENON_ASSIGN(d.window, device_window(x.extents, y.extents, kernel, conv.strides, conv.dilations,
                                       conv.pads_begin, conv.pads_end, conv.pad_mode));
  d.is_convolution = true;
  d.channels = x.extents[1];
  d.columns = y.extents[1];
  d.loop = loop_over(y.extents, memory_order(y.rank(), Layout::kChannelsLast));
  return {};
}

Status describe_product(const Problem& problem, const MatMul& op, DeviceQuantized& d) {
  const Operand &x = problem.input(d.region.x), &w = problem.input(d.region.weights);
  const Operand& y = problem.output();
  if (op.transpose_a || w.rank() != 2 || x.rank() < 2)
    return unsupported("operands that are transposed, vectors or many matrices");
  d.channels = x.extents.back();
  d.columns = w.extents[op.transpose_b ? 0 : 1];
  Extents expected = x.extents;
  expected.back() = d.columns;
  if (y.extents != expected) return unsupported("the epilogue broadcasts");
  d.loop = loop_over(y.extents, memory_order(y.rank(), Layout::kRowMajor));
  return {};
}

/// One number, or one a column, known when the plan is built.
bool is_columns(const Problem& problem, const DeviceQuantized& d, int input) {
  const Operand& operand = problem.input(input);
  if (operand.constant == nullptr) return false;
  if (operand.count() == 1) return true;
  const int axis = d.is_convolution ? 1 : problem.output().rank() - 1;
  const int from = operand.rank() - problem.output().rank() + axis;
  return operand.count() == d.columns && from >= 0 && operand.extents[from] == d.columns;
}

/// The scales of both operands, the bias, and sums and products with constants right behind.
Status take_columns(const Problem& problem, DeviceQuantized& d) {
  const QuantizedRegion& region = d.region;
  const int scale = region.weight_scaling.scale;
  const int64_t count = problem.input(scale).count();
  if (count != 1 && count != d.columns) return unsupported("scales of the weights");
  const double x = number_at(problem, region.x_scaling.scale);
  for (int64_t i = 0; i < d.columns; ++i)
    d.scales.push_back(static_cast<float>(x * number_at(problem, scale, i)));
  d.biases.assign(static_cast<size_t>(d.columns), 0.0f);
  const auto combine = [&](PointwiseFunction function, int input) {
    for (size_t i = 0; i < d.biases.size(); ++i) {
      const auto number = static_cast<float>(number_at(problem, input, static_cast<int64_t>(i)));
      if (function == k_mul) d.scales[i] *= number;
      d.biases[i] = function == k_mul ? d.biases[i] * number : d.biases[i] + number;
    }
  };
  if (region.bias >= 0) {
    const Operand& bias = problem.input(region.bias);
    if (bias.constant == nullptr || bias.count() != d.columns)
      return unsupported("a bias that is not constant");
    combine(k_add, region.bias);
  }
  for (const QuantizedStep& step : region.steps) {
    const PointwiseFunction function = step.function.function;
    if (step.rounds || step.scaling || step.function.operand < 0 ||
        (function != k_add && function != k_mul) || !is_columns(problem, d, step.function.operand))
      break;
    combine(function, step.function.operand);
    ++d.first_step;
  }
  return {};
}

bool is_clamp(const QuantizedStep& step) {
  return !step.rounds && (step.function.function == k_relu || step.function.function == k_clip);
}
/// A sum with a tensor like the result.
bool is_residual(const QuantizedStep& step) {
  return !step.rounds && step.function.function == k_add && step.function.operand >= 0;
}

/// Where nothing but sums and clamps lie between the products and the quantization, all of them are
/// in multiples of its scale.
void scale_columns(const Problem& problem, DeviceQuantized& d) {
  if (!d.region.output) return;
  const double scale = number_at(problem, d.region.output->scale);
  const auto first = d.region.steps.begin() + static_cast<ptrdiff_t>(d.first_step);
  if (!(scale > 0) || !std::all_of(first, d.region.steps.end(), [](const QuantizedStep& step) {
        return is_clamp(step) || is_residual(step);
      }))
    return;
  for (float& factor : d.scales) factor = static_cast<float>(factor / scale);
  for (float& bias : d.biases) bias = static_cast<float>(bias / scale);
  d.is_scaled = true;
}

double low(DataType type) {
  if (is_float8(type)) return type == DataType::kFloat8E4M3 ? -448 : -57344;
  return type == DataType::kInt8 ? -128 : 0;
}
double high(DataType type) {
  if (is_float8(type)) return -low(type);
  return type == DataType::kInt8 ? 127 : 255;
}

/// Has scales, biases and steps give places in the interval of the result.
void set_interval(const Problem& problem, DeviceQuantized& d) {
  if (!d.region.output || is_float8(problem.output().type)) return;
  const ByteLimits exact = byte_limits(problem, d);
  const ByteLimits limits{std::nearbyint(exact.low), std::nearbyint(exact.high)};
  const double width = limits.high - limits.low;
  if (width < 1) return;
  d.interval = limits;
  if (!d.is_scaled) return;
  double offset = limits.low;
  if (d.first_step < d.region.steps.size()) {
    const QuantizedStep& step = d.region.steps[d.first_step];
    d.adds_raw_bytes =
        is_residual(step) && step.scaling && is_integer(problem.input(step.function.operand).type);
    if (d.adds_raw_bytes) {
      const int at = step.scaling->zero;
      const double start = kByteStart + (at < 0 ? 0 : number_at(problem, at)) -
                           low(problem.input(step.function.operand).type);
      offset += start * number_at(problem, step.scaling->scale) /
                number_at(problem, d.region.output->scale);
    }
  }
  for (float& factor : d.scales) factor = static_cast<float>(factor / width);
  for (float& bias : d.biases) bias = static_cast<float>((bias - offset) / width);
}

/// The cubic in the tangent of a GELU, of half its argument: factors of it and of its cube.
struct GeluCubic {
  double first, third;
};
/// Where its result becomes a number of 8 bits; nothing for other steps.
std::optional<GeluCubic> byte_gelu(const DeviceQuantized& d, const QuantizedStep& step) {
  const bool is_last = d.region.output && &step == &d.region.steps.back();
  if (step.rounds || !is_last) return std::nullopt;
  if (step.function.function == k_gelu_tanh) return GeluCubic{1.5957691, 0.28541926};
  // With the least error of all cubics.
  if (step.function.function == k_gelu_erf) return GeluCubic{1.6, 0.278};
  return std::nullopt;
}

/// Whether the step is x / (1 + e^-ax), and the result has 8 bits: half of x times 1 + its tangent.
bool is_byte_swish(const Problem& problem, const DeviceQuantized& d, const QuantizedStep& step) {
  return !step.rounds && step.function.function == k_swish && d.region.output &&
         !is_float8(problem.output().type);
}

/// Has scales and biases give halves where such a GELU follows, or such a swish.
void halve_columns(const Problem& problem, DeviceQuantized& d) {
  const auto& steps = d.region.steps;
  const bool is_next = d.first_step < steps.size() && !d.is_scaled;
  const bool takes_halves =
      is_next && (is_byte_swish(problem, d, steps[d.first_step]) ||
                  (d.first_step + 1 == steps.size() && byte_gelu(d, steps.back())));
  if (!takes_halves) return;
  d.is_halved = true;
  for (float& factor : d.scales) factor *= 0.5f;
  for (float& bias : d.biases) bias *= 0.5f;
}

bool takes_each_pixel_once(const DeviceWindow& w) {
  for (int axis = 0; axis < 3; ++axis)
    if (w.kernel[axis] != 1 || w.stride[axis] != 1 || w.begin[axis] != 0 ||
        w.output[axis] != w.input[axis])
      return false;
  return true;
}

void repeat(std::vector<float>& numbers, int64_t count) {
  const size_t size = numbers.size();
  for (size_t i = size; i < size * static_cast<size_t>(count); ++i)
    numbers.push_back(numbers[i - size]);
}

/// Writes steps as statements over v[0] to v[N - 1].
class StepWriter {
 public:
  StepWriter(KernelCode& code, const Problem& problem, const DeviceQuantized& d)
      : code_(code), problem_(problem), d_(d) {}

  Result<std::vector<int>> write() {
    const auto& steps = d_.region.steps;
    for (size_t i = d_.first_step; i < steps.size() && !d_.packs_gelu; ++i) {
      if (d_.is_scaled) {
        TENON_TRY(scaled(steps[i], i));
      } else if (steps[i].rounds) {
        round_trip(steps[i]);
      } else {
        TENON_TRY(function(steps[i]));
      }
    }
    if (d_.region.output && !d_.packs_gelu) quantize();
    add_epilogue_functions(code_, operands_, body_);
    return std::move(inputs_);
  }

 private:
  void each(const std::string& statement) {
    body_ += fmt::format("#pragma unroll\n  for (int i = 0; i < N; ++i) {}\n", statement);
  }

  /// v[i] between two numbers, NaN the lower one.
  void clamp(double low, double high) {
    each(fmt::format("v[i] = fminf(fmaxf(v[i], {}), {});", number(low), number(high)));
  }
  static std::string number(double value) { return "float(" + device_real(value) + ")"; }

  void round_trip(const QuantizedStep& step) {
    const double scale = number_at(problem_, step.scaling->scale);
    each(fmt::format("v[i] *= {};", number(1 / scale)));
    if (is_float8(step.rounded_type)) {
      each(
          fmt::format("v[i] = round_to_float8<{}>(v[i]);", quantized_type_name(step.rounded_type)));
    } else {
      clamp(low(step.rounded_type) - zero(*step.scaling),
            high(step.rounded_type) - zero(*step.scaling));
      each("v[i] = round_small(v[i]);");
    }
    each(fmt::format("v[i] *= {};", number(scale)));
  }

  Status function(const QuantizedStep& step) {
    const RegionStep& f = step.function;
    const bool rough = byte_size(problem_.output().type) <= 2;
    const bool is_half = d_.is_halved && &step == &d_.region.steps[d_.first_step];
    if (const auto cubic = byte_gelu(d_, step)) {
      if (!is_half) each("v[i] *= 0.5f;");
      each(fmt::format("v[i] = byte_gelu(v[i], {}, {});", number(cubic->first),
                       number(cubic->third)));
      return {};
    }
    if (is_byte_swish(problem_, d_, step)) {
      if (!is_half) each("v[i] *= 0.5f;");
      each(f.alpha == 1 ? "v[i] = byte_swish(v[i], v[i]);"
                        : fmt::format("v[i] = byte_swish(v[i], v[i] * {});", number(f.alpha)));
      return {};
    }
    if (rough && f.function == k_gelu_tanh && f.operand < 0) {
      body_ += "  rough_gelu_tanh<N>(v);\n";
      return {};
    }
    TENON_TRY(add_step_function(code_, count_, f, rough));
    if (f.operand < 0) {
      each(fmt::format("v[i] = epilogue_step{}(v[i], Real(0));", count_++));
      return {};
    }
    TENON_TRY(operand(step));
    const size_t at = operands_.size() - 1;
    body_ += fmt::format("  {{\n  Real o[N];\n  widen_bytes<Epilogue{0}At, N>(f.o{0}, o);\n", at);
    if (step.scaling) {
      if (const double z = zero(*step.scaling); z != 0) each(fmt::format("o[i] -= {};", number(z)));
      each(fmt::format("o[i] *= {};", number(number_at(problem_, step.scaling->scale))));
    }
    each(fmt::format("v[i] = epilogue_step{}({});", count_++,
                     f.value_is_second ? "o[i], v[i]" : "v[i], o[i]"));
    body_ += "  }\n";
    return {};
  }

  /// A step in multiples of the result's scale, or in places of its interval. The last one, a
  /// clamp, is the quantization's.
  Status scaled(const QuantizedStep& step, size_t number_of_step) {
    const ByteLimits limits = d_.interval.value_or(ByteLimits{0, 1});
    const double width = limits.high - limits.low;
    const double inverse = 1 / number_at(problem_, d_.region.output->scale);
    const bool is_last = number_of_step + 1 == d_.region.steps.size();
    const RegionStep& f = step.function;
    if (is_residual(step)) {
      TENON_TRY(operand(step));
      add_residual(step, inverse / width, d_.adds_raw_bytes && number_of_step == d_.first_step);
    } else if (!is_last && f.function == k_relu) {
      each(fmt::format("v[i] = fmaxf(v[i], {});", number(-limits.low / width)));
    } else if (!is_last) {
      clamp((f.alpha * inverse - limits.low) / width, (f.beta * inverse - limits.low) / width);
    }
    return {};
  }

  void add_residual(const QuantizedStep& step, double unit, bool raw) {
    const double factor = step.scaling ? unit * number_at(problem_, step.scaling->scale) : unit;
    const double start = step.scaling && !raw ? -zero(*step.scaling) * factor : 0;
    body_ += fmt::format("  {{\n  Real o[N];\n  {}_bytes<Epilogue{}At, N>(f.o{}, o);\n",
                         raw ? "raw" : "widen", operands_.size() - 1, operands_.size() - 1);
    each(start == 0 ? fmt::format("v[i] = fmaf(o[i], {}, v[i]);", number(factor))
                    : fmt::format("v[i] += fmaf(o[i], {}, {});", number(factor), number(start)));
    body_ += "  }\n";
  }

  Status operand(const QuantizedStep& step) {
    const Operand& operand = problem_.input(step.function.operand);
    const char* type = quantized_type_name(operand.type);
    if (type == nullptr || (byte_size(operand.type) == 1) != step.scaling.has_value())
      return unsupported("an operand of {} behind the sums", name_of(operand.type));
    TENON_ASSIGN(const std::vector<int64_t> strides,
                 broadcast_strides(operand, problem_.output().extents));
    code_.located(fmt::format("Epilogue{}At", operands_.size()), d_.loop, operand, strides);
    operands_.push_back({type});
    inputs_.push_back(step.function.operand);
    return {};
  }

  /// Conversions clamp to the limits, but for those of numbers with a zero point.
  void quantize() {
    const Scaling& to = *d_.region.output;
    if (d_.interval) {
      const double width = d_.interval->high - d_.interval->low;
      if (!d_.is_scaled)
        each(fmt::format("v[i] = fmaf(v[i], {}, {});",
                         number(1 / number_at(problem_, to.scale) / width),
                         number(-d_.interval->low / width)));
      return;
    }
    if (!d_.is_scaled) each(fmt::format("v[i] *= {};", number(1 / number_at(problem_, to.scale))));
    const ByteLimits limits = byte_limits(problem_, d_);
    if (zero(to) != 0) {
      clamp(limits.low, limits.high);
      each(fmt::format("v[i] = round_small(v[i]) + {};", number(zero(to))));
    } else if (is_float8(problem_.output().type) && limits_floats()) {
      clamp(limits.low, limits.high);
    }
  }
  bool limits_floats() const {
    return d_.is_scaled && d_.region.steps.size() > d_.first_step &&
           is_clamp(d_.region.steps.back());
  }

  double zero(const Scaling& scaling) const {
    return scaling.zero < 0 ? 0 : number_at(problem_, scaling.zero);
  }

  KernelCode& code_;
  const Problem& problem_;
  const DeviceQuantized& d_;
  std::string body_;
  std::vector<EpilogueOperand> operands_;
  std::vector<int> inputs_;
  int count_ = 0;
};

/// The contents of constant weights by column, tap and channel. Of stacked rows each has columns
/// and channels of its own, and the others' are 0.
struct WeightReader {
  Tensor tensor;
  int64_t columns, channels, taps, stacked, zero = 0;
  bool across = false;  ///< [channels][columns]

  WeightReader(const Problem& problem, const DeviceQuantized& d)
      : tensor(*problem.input(d.region.weights).constant),
        columns(d.columns),
        channels(d.channels),
        taps(d.taps()),
        stacked(d.stacked) {
    const int at = d.region.weight_scaling.zero;
    if (at >= 0 && !is_float8(tensor.type())) zero = problem.input(at).constant->as_int64(0);
    const auto* product = d.region.anchor.as<MatMul>();
    across = product != nullptr && !product->transpose_b;
  }
  /// The bytes of one column's tap, in the places of its channels.
  void read(int64_t column, int64_t tap, std::byte* to) const {
    for_each_own(column, tap, [&](int64_t c, uint8_t byte) { to[c] = std::byte{byte}; });
  }
  int64_t sum(int64_t column, int64_t tap) const {
    int64_t sum = 0;
    for_each_own(column, tap, [&](int64_t, uint8_t byte) { sum += static_cast<int8_t>(byte); });
    return sum;
  }
  /// What follows from the tensor and from `rest` alone.
  JitConstant constant(JitConstant::Make make, std::string_view rest) const {
    return {std::move(make), tensor,
            fmt::format("bytes: {}x{}x{}, {} stacked, {}, less {}, {}", columns, channels, taps,
                        stacked, across ? "across" : "along", zero, rest)};
  }

 private:
  /// Of channels that are not another row's.
  template <class Function>
  void for_each_own(int64_t column, int64_t tap, const Function& function) const {
    const int64_t own_columns = columns / stacked, own_channels = channels / stacked;
    const int64_t first = column / own_columns * own_channels, n = column % own_columns;
    const auto* from = reinterpret_cast<const uint8_t*>(tensor.bytes()) +
                       (across ? n : n * own_channels * taps + tap);
    const int64_t step = across ? own_columns : taps;
    for (int64_t c = 0; c < own_channels; ++c)
      function(first + c, static_cast<uint8_t>(from[c * step] - zero));
  }
};

std::string text_of(const BorderKinds& kinds) {
  std::string text;
  for (const auto& [first, end] : kinds.taps) text += fmt::format(" {}-{}", first, end);
  return text;
}

template <class T> std::vector<std::byte> bytes_of(const std::vector<T>& numbers) {
  std::vector<std::byte> bytes(numbers.size() * sizeof(T));
  std::memcpy(bytes.data(), numbers.data(), bytes.size());
  return bytes;
}

}  // namespace

const char* quantized_type_name(DataType type) {
  if (type == DataType::kFloat8E4M3) return "e4m3";
  if (type == DataType::kFloat8E5M2) return "e5m2";
  const bool is_known = type == DataType::kInt8 || type == DataType::kUInt8 ||
                        type == DataType::kFloat32 || type == DataType::kFloat16 ||
                        type == DataType::kBFloat16;
  return is_known ? device_type(type) : nullptr;
}

const char* matrix_type_name(DataType type) {
  if (type == DataType::kInt8) return "s8";
  if (type == DataType::kUInt8) return "u8";
  return is_float8(type) ? quantized_type_name(type) : nullptr;
}

bool is_float8(DataType type) {
  return type == DataType::kFloat8E4M3 || type == DataType::kFloat8E5M2;
}

int64_t padded_columns(const DeviceQuantized& d) {
  return blocks_for(d.columns, 16) * 16 + kWidestTile;
}

Result<DeviceQuantized> describe_device_quantized(const Problem& problem) {
  TENON_ASSIGN(QuantizedRegion region, quantized_region(problem));
  return describe_device_quantized(problem, std::move(region));
}

Result<DeviceQuantized> describe_device_quantized(const Problem& problem, QuantizedRegion region) {
  DeviceQuantized d;
  d.region = std::move(region);
  TENON_TRY(check_types(problem, d.region));
  if (const auto* conv = d.region.anchor.as<Conv>()) {
    TENON_TRY(describe_convolution(problem, *conv, d));
  } else {
    TENON_TRY(describe_product(problem, *d.region.anchor.as<MatMul>(), d));
  }
  d.rows = problem.output().count() / std::max<int64_t>(d.columns, 1);
  if (d.region.x_scaling.zero >= 0 && !is_float8(problem.input(d.region.x).type))
    d.zero = problem.input(d.region.x_scaling.zero).constant->as_int64(0);
  TENON_TRY(take_columns(problem, d));
  scale_columns(problem, d);
  set_interval(problem, d);
  halve_columns(problem, d);
  return d;
}

Status stack_rows(const Problem& problem, DeviceQuantized& d, int64_t count) {
  const Operand& x = problem.input(d.region.x);
  if (!x.dense() || (d.is_convolution && !pixel_stride(x)))
    return unsupported("rows that lie apart");
  if (d.is_convolution && !takes_each_pixel_once(d.window)) return unsupported("more than one tap");
  if (d.rows % count != 0) return unsupported("{} rows, no multiple of {}", d.rows, count);
  d.is_convolution = false;
  d.window = {};
  d.stacked = count;
  d.rows /= count;
  d.columns *= count;
  d.channels *= count;
  repeat(d.scales, count);
  repeat(d.biases, count);
  return {};
}

Result<std::vector<int>> add_quantized_epilogue(KernelCode& code, const Problem& problem,
                                                const DeviceQuantized& d) {
  code.alias("Real", "f32");
  return StepWriter(code, problem, d).write();
}

ByteLimits byte_limits(const Problem& problem, const DeviceQuantized& d) {
  const DataType type = problem.output().type;
  const Scaling& to = *d.region.output;
  const double zero = to.zero < 0 ? 0 : number_at(problem, to.zero);
  ByteLimits limits{low(type) - zero, high(type) - zero};
  if (!d.is_scaled || d.region.steps.size() == d.first_step || !is_clamp(d.region.steps.back()))
    return limits;
  const RegionStep& clamp = d.region.steps.back().function;
  const double scale = number_at(problem, to.scale);
  const double from = clamp.function == k_relu ? 0 : clamp.alpha / scale;
  const double until = clamp.function == k_relu ? limits.high : clamp.beta / scale;
  return {std::clamp(from, limits.low, limits.high), std::clamp(until, limits.low, limits.high)};
}

bool may_pack_gelu(const Problem& problem, const DeviceQuantized& d) {
  if (!d.is_halved || !byte_gelu(d, d.region.steps.back())) return false;
  const double factor = 1 / number_at(problem, d.region.output->scale);
  // Floats of 8 bits end where those of 16 do.
  if (is_float8(problem.output().type)) return factor > 1e-2 && factor < 32768;
  if (!d.interval) return false;
  constexpr double kMost = 32768;  // Half of the greatest number of 16 bits.
  const auto sum = static_cast<double>(greatest_sum(problem, d));
  for (size_t i = 0; i < d.scales.size(); ++i)
    if (!(sum * std::abs(d.scales[i]) + std::abs(d.biases[i]) < kMost)) return false;
  return factor > 1e-2 && factor < 200;  // Within a unit.
}

namespace {

/// Limits that conversions to the result's bytes clamp to, where those are not the type's own.
void add_byte_limits(KernelCode& code, const Problem& problem, const DeviceQuantized& d) {
  if (!d.region.output || is_float8(problem.output().type)) return;
  const int zero = d.region.output->zero;
  if (d.interval) {
    const double start = d.interval->low + (zero < 0 ? 0 : number_at(problem, zero));
    code.text(fmt::format("#define BYTE_RANGE float({})\n#define BYTE_START float({})\n",
                          device_real(d.interval->high - d.interval->low),
                          device_real(12582912 + start)));
    return;
  }
  if (zero >= 0 && problem.input(zero).constant->as_int64(0) != 0) return;
  const ByteLimits limits = byte_limits(problem, d);
  code.text(fmt::format("#define BYTE_LOWEST(T) float({})\n#define BYTE_HIGHEST(T) float({})\n",
                        device_real(limits.low), device_real(limits.high)));
}

/// Conversions compute a GELU on pairs of halves.
void add_packed_gelu(KernelCode& code, const Problem& problem, const DeviceQuantized& d) {
  if (!d.packs_gelu) return;
  const auto pair = [](double value) {
    const uint32_t half = f16_from_float(static_cast<float>(value));
    return fmt::format("{:#010x}u", half << 16 | half);
  };
  const GeluCubic cubic = byte_gelu(d, d.region.steps.back()).value();
  const double factor = 1 / number_at(problem, d.region.output->scale);
  if (!d.interval) {
    code.text(fmt::format("#define PACKED_GELU {}, {}, {}\n", pair(cubic.first), pair(cubic.third),
                          pair(factor)));
    return;
  }
  const double width = d.interval->high - d.interval->low;
  const int zero = d.region.output->zero;
  // Where the places of halves are whole numbers; bytes are those of numbers modulo 256.
  const double start = 1024 + 256 + d.interval->low + (zero < 0 ? 0 : number_at(problem, zero));
  code.text(fmt::format("#define PACKED_GELU {}, {}, {}, {}, {}, {}\n", pair(cubic.first),
                        pair(cubic.third), pair(factor / width), pair(-d.interval->low / width),
                        pair(width), pair(start)));
}

}  // namespace

Result<KernelCode> begin_byte_code(const Problem& problem, const DeviceQuantized& d) {
  KernelCode code = begin_code(problem);
  TENON_ASSIGN(const std::string types, device_source("jit/bytes.cuh"));
  add_byte_limits(code, problem, d);
  add_packed_gelu(code, problem, d);
  code.text(types);
  return code;
}

void add_byte_product(KernelCode& code, const Problem& problem, const DeviceQuantized& d) {
  const DataType x = problem.input(d.region.x).type, w = problem.input(d.region.weights).type;
  const bool real = is_float8(x);
  const char *sums = real ? "f32" : "s32", *place = real ? "+f" : "+r";
  code.text(fmt::format(
      "__device__ inline void multiply_bytes(Accumulator (&c)[4], const u32 (&a)[4], u32 b0, u32 "
      "b1) "
      "{{\n  asm volatile(\"mma.sync.aligned.m16n8k32.row.col.{0}.{1}.{2}.{0} {{%0,%1,%2,%3}}, "
      "{{%4,%5,%6,%7}}, {{%8,%9}}, {{%0,%1,%2,%3}};\"\n    : \"{3}\"(c[0]), \"{3}\"(c[1]), "
      "\"{3}\"(c[2]), \"{3}\"(c[3])\n    : \"r\"(a[0]), \"r\"(a[1]), \"r\"(a[2]), \"r\"(a[3]), "
      "\"r\"(b0), \"r\"(b1));\n}}\n",
      sums, matrix_type_name(x), real ? matrix_type_name(w) : "s8", place));
}

Status check_byte_product(const Problem& problem, const DeviceQuantized& d) {
  const int least = is_float8(problem.input(d.region.x).type) ? 89 : 80;
  if (capability_of(problem) < least)
    return unsupported("its matrix instructions need sm_{}", least);
  return {};
}

int64_t greatest_sum(const Problem& problem, const DeviceQuantized& d) {
  const bool is_wide = d.zero != 0 || problem.input(d.region.x).type == DataType::kUInt8;
  const int64_t number = is_wide ? 255 : 128, depth = d.taps() * d.channels / d.stacked;
  const int64_t columns = d.columns / d.stacked;
  const Tensor& weights = *problem.input(d.region.weights).constant;
  // Weights without their zero point are bytes; those that have one are not looked at.
  if (d.region.weight_scaling.zero >= 0 || weights.type() != DataType::kInt8)
    return depth * 128 * number;
  const auto* product = d.region.anchor.as<MatMul>();
  const bool across = product != nullptr && !product->transpose_b;
  std::vector<int64_t> sums(static_cast<size_t>(columns));
  const int8_t* from = weights.values<int8_t>().data();
  for (int64_t i = 0; i < (across ? depth : columns); ++i)
    for (int64_t k = 0; k < (across ? columns : depth); ++k, ++from)
      sums[static_cast<size_t>(across ? k : i)] += std::abs(int{*from});
  return number * *std::max_element(sums.begin(), sums.end());
}

std::function<std::vector<std::byte>()> column_factors(const DeviceQuantized& d, double start) {
  std::vector<float> factors(static_cast<size_t>(padded_columns(d)) * 2);
  for (size_t i = 0; i < d.scales.size(); ++i) {
    factors[2 * i] = d.scales[i];
    factors[2 * i + 1] = static_cast<float>(d.biases[i] - start * d.scales[i]);
  }
  return [factors = std::move(factors)] { return bytes_of(factors); };
}

JitConstant packed_weights(const Problem& problem, const DeviceQuantized& d,
                           const PackedWeights& order) {
  const WeightReader weights(problem, d);
  const auto make = [weights, order] {
    const int64_t places = order.places(weights.columns);
    std::vector<std::byte> bytes(static_cast<size_t>(places * order.row));
    for (int64_t place = 0; place < places; ++place) {
      const int64_t n = order.column_at(place);
      for (int64_t tap = 0; n < weights.columns && tap < weights.taps; ++tap)
        weights.read(n, tap, bytes.data() + place * order.row + tap * order.tap_pitch);
    }
    return bytes;
  };
  return weights.constant(make, fmt::format("rows of {}, taps {} apart, slab {}", order.row,
                                            order.tap_pitch, order.slab));
}

int64_t PackedWeights::column_at(int64_t place) const {
  if (slab == 0) return place;
  const int64_t first = place / slab * slab, group = place % slab / 8, within = place % 8;
  return first + within / 2 * (slab / 4) + group * 2 + within % 2;
}

int64_t PackedWeights::places(int64_t columns) const {
  return slab == 0 ? columns : blocks_for(columns, slab) * slab;
}

BorderKinds border_kinds(const DeviceWindow& w, size_t axis) {
  BorderKinds kinds;
  for (int64_t at = 0; at < w.output[axis]; ++at) {
    const int64_t begin = at * w.stride[axis] - w.begin[axis];
    const auto is_inside = [&](int64_t tap) {
      const int64_t place = begin + tap * w.dilation[axis];
      return place >= 0 && place < w.input[axis];
    };
    int64_t first = 0;
    while (first < w.kernel[axis] && !is_inside(first)) ++first;
    int64_t end = first;
    while (end < w.kernel[axis] && is_inside(end)) ++end;
    const auto found = std::find(kinds.taps.begin(), kinds.taps.end(), std::pair(first, end));
    kinds.of.push_back(found - kinds.taps.begin());
    if (found == kinds.taps.end()) kinds.taps.emplace_back(first, end);
  }
  return kinds;
}

JitConstant column_shifts(const Problem& problem, const DeviceQuantized& d) {
  const WeightReader weights(problem, d);
  const int64_t zero = d.zero, padded = padded_columns(d);
  const auto make = [weights, zero, padded] {
    std::vector<int32_t> shifts(static_cast<size_t>(padded));
    for (int64_t n = 0; n < weights.columns; ++n)
      for (int64_t tap = 0; tap < weights.taps; ++tap)
        shifts[static_cast<size_t>(n)] += static_cast<int32_t>(zero * weights.sum(n, tap));
    return bytes_of(shifts);
  };
  return weights.constant(make, fmt::format("{} times sums in {}", zero, padded));
}

JitConstant column_shifts(const Problem& problem, const DeviceQuantized& d, const BorderKinds& down,
                          const BorderKinds& across) {
  const WeightReader weights(problem, d);
  const int64_t zero = d.zero, padded = padded_columns(d), width = d.window.kernel[2];
  const auto make = [weights, zero, padded, width, down = down.taps, across = across.taps] {
    std::vector<int32_t> shifts(down.size() * across.size() * static_cast<size_t>(padded));
    std::vector<int64_t> sums(static_cast<size_t>(weights.taps));
    for (int64_t n = 0; n < weights.columns; ++n) {
      for (int64_t tap = 0; tap < weights.taps; ++tap)
        sums[static_cast<size_t>(tap)] = weights.sum(n, tap);
      auto* to = shifts.data() + n;
      for (const auto& [first1, end1] : down)
        for (const auto& [first2, end2] : across) {
          int64_t sum = 0;
          for (int64_t i = first1; i < end1; ++i)
            for (int64_t j = first2; j < end2; ++j) sum += sums[static_cast<size_t>(i * width + j)];
          *to = static_cast<int32_t>(zero * sum);
          to += padded;
        }
    }
    return bytes_of(shifts);
  };
  return weights.constant(make, fmt::format("{} times sums in {} of taps of {} by {}, {} wide",
                                            zero, padded, text_of(down), text_of(across), width));
}

bool has_small_sums(const Problem& problem, const DeviceQuantized& d) {
  return !is_float8(problem.input(d.region.x).type) && greatest_sum(problem, d) < int64_t{1} << 22;
}

std::optional<std::vector<int>> addends(const Problem& problem, const DeviceQuantized& d) {
  const Operand& y = problem.output();
  std::vector<int> found;
  for (size_t i = d.first_step; i < d.region.steps.size(); ++i) {
    const int input = d.region.steps[i].function.operand;
    if (input < 0) continue;
    const Operand& operand = problem.input(input);
    if (byte_size(operand.type) != byte_size(y.type) || operand.extents != y.extents ||
        operand.layout != y.layout || !operand.dense() || operand.alignment < 16)
      return std::nullopt;
    found.push_back(input);
  }
  return found;
}

JitPlan quantized_plan(JitLaunch launch, const Problem& problem, const DeviceQuantized& d,
                       JitConstant weights, const std::vector<int>& operands) {
  launch.add({JitArgument::input(d.region.x), JitArgument::constant(0), JitArgument::output(),
              JitArgument::constant(1),
              d.zero != 0 ? JitArgument::constant(2) : JitArgument::null()});
  launch.add_inputs(operands);
  JitPlan plan = plan_of(std::move(launch));
  plan.constants = {std::move(weights), column_factors(d)};
  if (d.zero != 0) plan.constants.push_back(column_shifts(problem, d));
  return plan;
}

}  // namespace tenon
