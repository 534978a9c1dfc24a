// Kernels whose results are quantized: groups of scalar functions, depthwise convolutions,
// reductions; and resizes of bytes.
#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

using enum PointwiseFunction;

constexpr DataType kHalf = DataType::kFloat16, kWhole = DataType::kFloat32;
constexpr DataType kByteTypes[] = {DataType::kInt8, DataType::kUInt8, DataType::kFloat8E4M3,
                                   DataType::kFloat8E5M2};

/// Floats of 8 bits are for GPUs from sm_89 on.
std::string title(std::string_view name, DataType type) {
  return fmt::format("{}{} {}", is_real(type) ? "hopper " : "", name, name_of(type));
}

/// Scale and zero point.
std::vector<CaseInput> rounding_to(DataType type, double scale, int64_t zero) {
  Tensor number(kWhole, {});
  number.set_from_double(0, scale);
  std::vector<CaseInput> inputs = {constant(std::move(number))};
  if (is_real(type) || zero == 0) return inputs;
  Tensor offset(type, {});
  offset.set_from_int64(0, zero);
  inputs.push_back(constant(std::move(offset)));
  return inputs;
}

/// One unit behind a rounding.
KernelCase& quantized(KernelCase& c, DataType type, double scale = 0.013, int64_t zero = 3) {
  Quantize op;
  op.to = type;
  return c.into_op(op, rounding_to(type, scale, zero)).tolerance(is_real(type) ? 0.13 : 1);
}

CaseInput halves(Extents extents, int seed, Layout layout = Layout::kRowMajor) {
  return input(random_reals(kHalf, std::move(extents), seed, -1.5, 1.5), layout);
}

CaseInput bytes(DataType type, Extents extents, int seed) {
  if (is_real(type)) return input(random_reals(type, std::move(extents), seed, -4, 4));
  const int64_t low = type == DataType::kInt8 ? -128 : 0;
  return input(random_integers(type, std::move(extents), seed, low, low + 255));
}

void add_groups(Cases& cases) {
  for (const DataType type : kByteTypes) {
    auto& gate =
        add(cases, title("rounding gate", type), Pointwise(k_mul),
            std::vector{halves({2, 24, 9, 8}, 1, Layout::kChannelsLast), halves({2, 24, 1, 1}, 2)});
    quantized(gate.output_layout(Layout::kChannelsLast), type);
    auto& sum = add(cases, title("rounding sum of bytes", type), Dequantize(),
                    std::vector{bytes(type, {3, 7, 64}, 3), rounding_to(type, 0.02, 5).front()});
    sum.then(k_add, input(random_reals(kWhole, {7, 64}, 4)));
    quantized(sum.then(k_relu), type);
    auto& odd = add(cases, title("rounding odd", type), Pointwise(k_sub),
                    std::vector{halves({5, 33}, 5), halves({33}, 6)});
    quantized(odd, type);
  }
  auto& back =
      add(cases, "rounding and back", Pointwise(k_sigmoid), std::vector{halves({7, 130}, 7)});
  quantized(back, DataType::kInt8, 0.004);
  back.into_op(Dequantize(), rounding_to(DataType::kInt8, 0.004, 3)).then(k_neg).tolerance(0.005);
}

void add_depthwise(Cases& cases) {
  struct Form {
    int64_t channels, height, width, window, stride;
  };
  for (const Form& f : {Form{40, 15, 13, 3, 1}, Form{72, 28, 28, 5, 2}, Form{35, 9, 11, 5, 1},
                        Form{960, 7, 7, 5, 1}, Form{64, 56, 56, 3, 2}})
    for (const DataType type : kByteTypes) {
      Conv op;
      op.strides = {f.stride, f.stride}, op.dilations = {1, 1};
      op.pads_begin = op.pads_end = {f.window / 2, f.window / 2};
      op.groups = f.channels;
      auto& c = add(
          cases,
          title(fmt::format("rounding depthwise {} {}x{}", f.channels, f.window, f.stride), type),
          op,
          std::vector{
              halves({2, f.channels, f.height, f.width}, 1, Layout::kChannelsLast),
              constant(random_reals(kHalf, {f.channels, 1, f.window, f.window}, 2, -0.5, 0.5)),
              constant(random_reals(kHalf, {f.channels}, 3))});
      quantized(c.output_layout(Layout::kChannelsLast).then(k_hard_swish), type, 0.021);
    }
}

void add_reductions(Cases& cases) {
  for (const DataType type : kByteTypes) {
    Reduce mean;
    mean.function = ReduceFunction::kMean, mean.axes = {2, 3};
    auto& image = add(cases, title("rounding mean", type), mean,
                      std::vector{halves({3, 72, 9, 8}, 1, Layout::kChannelsLast)});
    quantized(image, type, 0.004);
    Reduce sum;
    sum.function = ReduceFunction::kSum, sum.axes = {1}, sum.keep_dims = false;
    quantized(add(cases, title("rounding row sums", type), sum, std::vector{halves({70, 530}, 2)}),
              type, 0.5);
  }
}

void add_resizes(Cases& cases) {
  for (const DataType type : kByteTypes)
    for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast}) {
      Resize op;
      op.coordinates = CoordinateMode::kAsymmetric, op.nearest = NearestMode::kFloor;
      Tensor scales(kWhole, {4});
      for (int64_t i = 0; i < 4; ++i) scales.set_from_double(i, i < 2 ? 1 : 2);
      CaseInput image = bytes(type, {2, 32, 5, 6}, 1);
      image.layout = layout;
      add(cases, fmt::format("rounding resize {} {}", name_of(type), static_cast<int>(layout)), op,
          std::vector{image, absent(), constant(scales)})
          .output_layout(layout);
    }
}

}  // namespace

Cases rounding_cases() {
  Cases cases;
  add_groups(cases);
  add_depthwise(cases);
  add_reductions(cases);
  add_resizes(cases);
  return cases;
}

}  // namespace tenon::test
