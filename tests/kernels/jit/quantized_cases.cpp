// Regions of 8-bit numbers: products and convolutions of dequantized operands, what follows them,
// and quantization. "ampere" ones run on any GPU from there on.
#include <cmath>

#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

using enum PointwiseFunction;

constexpr DataType kSigned = DataType::kInt8, kUnsigned = DataType::kUInt8,
                   kFloat8 = DataType::kFloat8E4M3, kFloat = DataType::kFloat32;

/// How a tensor is quantized.
struct Kind {
  DataType type = kSigned;
  double scale = 0.02;
  int64_t zero = 0;
};

Tensor numbers(DataType type, Extents extents, int seed) {
  if (is_real(type)) return random_reals(type, std::move(extents), seed, -4, 4);
  const int64_t low = type == kSigned ? -128 : 0;
  return random_integers(type, std::move(extents), seed, low, low + 255);
}

/// Scale and, where there is one, zero point.
std::vector<CaseInput> scaling(const Kind& kind) {
  Tensor scale(kFloat, {});
  scale.set_from_double(0, kind.scale);
  std::vector<CaseInput> inputs = {constant(std::move(scale))};
  if (kind.zero == 0) return inputs;
  Tensor zero(kind.type, {});
  zero.set_from_int64(0, kind.zero);
  inputs.push_back(constant(std::move(zero)));
  return inputs;
}

std::vector<CaseInput> behind(CaseInput first, std::vector<CaseInput> others) {
  others.insert(others.begin(), std::move(first));
  return others;
}

/// What follows the sums.
enum class End { kSums, kBias, kRelu, kResidual, kGelu, kSwish, kRounded };

struct Region {
  Kind x, y;
  End end = End::kSums;
  bool quantizes = true;
  bool by_column = true;  ///< Scales of the weights.
};

Dequantize dequantize_along(int64_t axis) {
  Dequantize op;
  op.axis = axis;
  return op;
}

Quantize quantize_to(DataType type) {
  Quantize op;
  op.to = type;
  return op;
}

std::vector<CaseInput> weights_of(const Region& r, Extents extents, int64_t columns, int seed) {
  const DataType type = is_real(r.x.type) ? kFloat8 : kSigned;
  std::vector<CaseInput> inputs = {constant(numbers(type, std::move(extents), seed))};
  inputs.push_back(constant(r.by_column ? random_reals(kFloat, {columns}, seed + 1, 0.002, 0.02)
                                        : random_reals(kFloat, {}, seed + 1, 0.01, 0.02)));
  return inputs;
}

/// The steps behind the anchor, and the quantization.
void finish_region(KernelCase& c, const Region& r, const Extents& result, Extents bias,
                   Layout layout) {
  const int seed = 77;
  if (r.end != End::kSums && r.end != End::kRelu && !bias.empty())
    c.then(k_add, constant(random_reals(kFloat, bias, seed)));
  if (r.end == End::kRelu) c.then(k_relu);
  if (r.end == End::kGelu) c.then(k_gelu_erf);
  if (r.end == End::kSwish) c.then(k_swish, 1);
  if (r.end == End::kRounded) {
    c.into_op(quantize_to(r.y.type), scaling(r.y));
    c.into_op(Dequantize(), scaling(r.y));
    c.then(k_mul, input(random_reals(DataType::kFloat32, result, seed + 1), layout));
  }
  if (r.end == End::kResidual) {
    const Kind kind{r.y.type, 0.03, is_real(r.y.type) ? 0 : 5};
    Value* residual = c.aside(
        Dequantize(), behind(input(numbers(kind.type, result, seed + 2), layout), scaling(kind)));
    c.into_op(Pointwise(k_add), residual, {});
    c.then(k_clip, -2.5, 3);
  }
  if (r.quantizes) c.into_op(quantize_to(r.y.type), scaling(r.y));
  // One unit behind a rounding.
  if (r.quantizes) c.tolerance(is_real(r.y.type) ? 0.13 : 1);
  // References round each dequantized number; that sums are exact is shown by add_exact.
  if (!r.quantizes) c.tolerance(r.end == End::kRounded ? 0.1 : 1e-4);
}

struct ProductShape {
  Extents a;
  int64_t n;
  bool transpose_b;
};

KernelCase& add_product(Cases& cases, const std::string& name, const ProductShape& s,
                        const Region& r) {
  auto& c = add(cases, name, Dequantize(), behind(input(numbers(r.x.type, s.a, 1)), scaling(r.x)));
  MatMul op;
  op.transpose_b = s.transpose_b;
  const Extents b = s.transpose_b ? Extents{s.n, s.a.back()} : Extents{s.a.back(), s.n};
  Value* weights = c.aside(dequantize_along(s.transpose_b ? 0 : 1), weights_of(r, b, s.n, 2));
  c.into_op(op, weights, {});
  Extents result = s.a;
  result.back() = s.n;
  finish_region(c, r, result, {s.n}, Layout::kRowMajor);
  return c;
}

struct ConvShape {
  int64_t in, out, height, width, kernel, stride, pad, dilation = 1;
};

KernelCase& add_conv(Cases& cases, const std::string& name, const ConvShape& s, const Region& r,
                     Layout layout = Layout::kChannelsLast, Layout image = Layout::kChannelsLast) {
  if (layout == Layout::kRowMajor) image = layout;
  auto& c =
      add(cases, name, Dequantize(),
          behind(input(numbers(r.x.type, {2, s.in, s.height, s.width}, 1), image), scaling(r.x)));
  Conv op;
  op.strides = {s.stride, s.stride};
  op.pads_begin = op.pads_end = {s.pad, s.pad};
  op.dilations = {s.dilation, s.dilation};
  Value* weights =
      c.aside(dequantize_along(0), weights_of(r, {s.out, s.in, s.kernel, s.kernel}, s.out, 2));
  c.into_op(op, weights, {constant(random_reals(kFloat, {s.out}, 3))});
  const auto extent = [&](int64_t in) {
    return (in + 2 * s.pad - s.dilation * (s.kernel - 1) - 1) / s.stride + 1;
  };
  finish_region(c, r, {2, s.out, extent(s.height), extent(s.width)}, {1, s.out, 1, 1}, layout);
  return c.output_layout(layout);
}

/// First convolutions of images of reals, which they quantize themselves.
void add_rounded_images(Cases& cases) {
  struct Row {
    DataType real;
    Kind kind;
    int64_t channels, columns, width, kernel;
  };
  for (const Row& row : {Row{DataType::kFloat16, {kSigned, 0x1p-6}, 3, 32, 48, 7},
                         Row{DataType::kBFloat16, {kUnsigned, 0x1p-6, 117}, 3, 16, 40, 3},
                         Row{kFloat, {kSigned, 0x1p-6, -3}, 4, 64, 40, 3},
                         Row{DataType::kFloat16, {kUnsigned, 0x1p-6, 100}, 1, 48, 37, 5},
                         Row{DataType::kBFloat16, {kSigned, 0.021, 7}, 3, 32, 37, 3},
                         Row{DataType::kFloat16, {kFloat8, 0.25}, 3, 16, 32, 3}}) {
    const bool is_float8 = is_real(row.kind.type);
    const Region r{row.kind, {kSigned, 0.25}};
    auto& c = add(cases,
                  fmt::format("{} quantized conv of a rounded image {} {} {}x{}",
                              is_float8 ? "hopper" : "ampere", name_of(row.real),
                              name_of(row.kind.type), row.channels, row.columns),
                  quantize_to(row.kind.type),
                  behind(input(random_reals(row.real, {2, row.channels, 30, row.width}, 1, -3, 3)),
                         scaling(row.kind)));
    c.into_op(Dequantize(), scaling(row.kind));
    Conv op;
    op.strides = {2, 2};
    op.pads_begin = op.pads_end = {row.kernel / 2, row.kernel / 2};
    Value* weights =
        c.aside(dequantize_along(0),
                weights_of(r, {row.columns, row.channels, row.kernel, row.kernel}, row.columns, 2));
    c.into_op(op, weights, {constant(random_reals(kFloat, {row.columns}, 3))});
    c.then(k_relu).tolerance(is_float8 ? 0.05 : 1e-4).output_layout(Layout::kChannelsLast);
  }
}

/// First convolutions, of images of bytes or of reals, with max pooling behind them: windows of two
/// or three places, in pads, past the end and not, of whole vectors and not.
void add_pooled_images(Cases& cases) {
  struct Row {
    DataType image;
    Kind x, y;
    int64_t channels, columns, height, width, kernel, stride, pad, pool, pool_pad;
    bool ceil = false;
  };
  int number = 0;
  for (const Row& row :
       {Row{kFloat, {kSigned, 0x1p-6}, {kSigned, 0.1}, 3, 64, 64, 80, 7, 2, 3, 3, 1},
        Row{DataType::kFloat16,
            {kUnsigned, 0x1p-6, 117},
            {kUnsigned, 0.1},
            3,
            64,
            61,
            244,
            7,
            2,
            3,
            3,
            1},
        Row{kFloat, {kSigned, 0x1p-6, -3}, {kSigned, 0.1, 7}, 3, 32, 45, 36, 3, 2, 1, 3, 0, true},
        Row{kSigned, {kSigned}, {kUnsigned, 0.3, 113}, 4, 48, 38, 132, 5, 1, 2, 2, 0},
        Row{kUnsigned, {kUnsigned, 0.02, 100}, {kSigned, 0.4}, 1, 16, 37, 29, 3, 1, 0, 3, 1},
        Row{DataType::kBFloat16,
            {kSigned, 0x1p-6},
            {kSigned, 0.1},
            3,
            64,
            70,
            520,
            4,
            4,
            0,
            2,
            0,
            true},
        // Words of groups of rows by turns of two and four, even and odd ones, and moved along;
        // first columns that begin within a word.
        Row{kSigned, {kSigned}, {kSigned, 0.3}, 2, 32, 47, 61, 5, 3, 2, 3, 1},
        Row{kFloat, {kSigned, 0x1p-6, 5}, {kSigned, 0.1}, 3, 64, 50, 132, 5, 2, 2, 3, 2},
        Row{kUnsigned, {kUnsigned, 0.02, 100}, {kSigned, 0.4}, 3, 16, 66, 140, 8, 4, 3, 3, 1},
        Row{kFloat, {kSigned, 0x1p-6}, {kUnsigned, 0.1, 3}, 4, 64, 43, 68, 7, 2, 3, 2, 0}}) {
    const std::string name = fmt::format("hopper quantized conv of a pooled image {}", ++number);
    const bool is_real_image = is_real(row.image);
    const Extents extents{2, row.channels, row.height, row.width};
    auto image = input(is_real_image ? random_reals(row.image, extents, 1, -3, 3)
                                     : numbers(row.image, extents, 1));
    auto& c =
        is_real_image
            ? add(cases, name, quantize_to(row.x.type), behind(std::move(image), scaling(row.x)))
            : add(cases, name, Dequantize(), behind(std::move(image), scaling(row.x)));
    if (is_real_image) c.into_op(Dequantize(), scaling(row.x));
    Conv op;
    op.strides = {row.stride, row.stride};
    op.pads_begin = op.pads_end = {row.pad, row.pad};
    const Region r{row.x, row.y};
    Value* weights =
        c.aside(dequantize_along(0),
                weights_of(r, {row.columns, row.channels, row.kernel, row.kernel}, row.columns, 2));
    c.into_op(op, weights, {constant(random_reals(kFloat, {row.columns}, 3))});
    if (number % 2 == 1) c.then(k_relu);
    c.into_op(quantize_to(row.y.type), scaling(row.y));
    Pool pool;
    pool.kernel = {row.pool, row.pool};
    pool.strides = {2, 2};
    pool.pads_begin = pool.pads_end = {row.pool_pad, row.pool_pad};
    pool.ceil_mode = row.ceil;
    c.into_op(pool, std::vector<CaseInput>{}).tolerance(1).output_layout(Layout::kChannelsLast);
  }
}

/// Sums of whole numbers: every digit counts.
void add_exact(Cases& cases) {
  for (const int64_t zero : {0, 128})
    for (const auto& [m, k, n] : std::initializer_list<std::array<int64_t, 3>>{
             {65, 48, 96}, {200, 272, 136}, {130, 33, 37}, {9, 1040, 264}}) {
      auto& c = add(cases, fmt::format("ampere quantized sums {}x{}x{} zero {}", m, n, k, zero),
                    Dequantize(),
                    behind(input(numbers(zero == 0 ? kSigned : kUnsigned, {m, k}, 1)),
                           scaling({zero == 0 ? kSigned : kUnsigned, 1, zero})));
      Value* weights = c.aside(dequantize_along(1), behind(constant(numbers(kSigned, {k, n}, 2)),
                                                           scaling({kSigned, 1})));
      c.into_op(MatMul(), weights, {}).tolerance(1e-12);
    }
  for (const ConvShape& s : {ConvShape{64, 72, 14, 13, 3, 1, 1}, {20, 33, 9, 8, 3, 2, 1}}) {
    auto& c = add(
        cases, fmt::format("ampere quantized conv sums {}x{}", s.in, s.out), Dequantize(),
        behind(input(numbers(kUnsigned, {2, s.in, s.height, s.width}, 1), Layout::kChannelsLast),
               scaling({kUnsigned, 1, 7})));
    Conv op;
    op.strides = {s.stride, s.stride};
    op.pads_begin = op.pads_end = {s.pad, s.pad};
    Value* weights =
        c.aside(dequantize_along(0),
                behind(constant(numbers(kSigned, {s.out, s.in, 3, 3}, 2)), scaling({kSigned, 1})));
    c.into_op(op, weights, {}).output_layout(Layout::kChannelsLast).tolerance(1e-12);
  }
}

void add_products(Cases& cases) {
  const Region regions[] = {{{kSigned}, {kSigned, 0.4}, End::kBias},
                            {{kUnsigned, 0.02, 128}, {kUnsigned, 0.3, 113}, End::kGelu},
                            {{kSigned, 0.01, -3}, {kSigned, 0.2, 9}, End::kResidual},
                            {{kUnsigned}, {kUnsigned, 0.5}, End::kRelu, true, false},
                            {{kSigned}, {kSigned, 0.05}, End::kRounded, false},
                            {{kSigned}, {}, End::kBias, false}};
  const ProductShape shapes[] = {{{128, 128}, 128, true},    {{300, 192}, 264, false},
                                 {{2, 99, 320}, 328, false}, {{197, 768}, 776, true},
                                 {{70, 72}, 95, false},      {{33, 50}, 34, true},
                                 {{520, 1024}, 1001, false}, {{5, 256}, 512, true}};
  int number = 0;
  for (const ProductShape& s : shapes)
    for (const Region& r : regions)
      if (++number % 2 == 0 || number < 12)
        add_product(cases, fmt::format("ampere quantized product {}", number), s, r);
  add_product(cases, "ampere quantized product swish", {{300, 192}, 264, false},
              {{kSigned}, {kSigned, 0.2}, End::kSwish});
  // More tiles than multiprocessors.
  add_product(cases, "ampere quantized product tall", {{2100, 208}, 1536, false}, regions[0]);
  add_product(cases, "ampere quantized product with sums", {{4100, 64}, 256, false}, regions[2]);
  add_product(cases, "ampere quantized product wide", {{1100, 144}, 3001, false}, regions[2]);
  // Several tiles a block, some of which end one block of columns and begin the next.
  add_product(cases, "ampere quantized product held", {{3240, 272}, 1544, false}, regions[0]);
  add_product(cases, "ampere quantized product held residual", {{3240, 400}, 776, false},
              regions[2]);
}

void add_convs(Cases& cases) {
  const ConvShape shapes[] = {
      {64, 64, 14, 14, 3, 1, 1}, {128, 96, 20, 20, 3, 1, 1},    {64, 72, 15, 17, 3, 2, 1},
      {256, 64, 9, 9, 1, 1, 0},  {80, 136, 12, 13, 3, 1, 2, 2}, {128, 200, 13, 11, 1, 2, 0},
      {3, 32, 21, 22, 7, 2, 3},  {24, 40, 11, 9, 5, 1, 2},      {48, 320, 64, 64, 1, 1, 0}};
  const Region regions[] = {{{kSigned}, {kSigned, 0.4}, End::kRelu},
                            {{kUnsigned, 0.02, 100}, {kUnsigned, 0.3, 113}, End::kBias},
                            {{kSigned, 0.02, -128}, {kSigned, 0.2, -7}, End::kResidual}};
  int number = 0;
  for (const ConvShape& s : shapes)
    for (const Region& r : regions)
      add_conv(cases, fmt::format("ampere quantized conv {}", ++number), s, r);
  // Parts of images that stay in shared memory.
  const Region plain[] = {regions[0], {{kSigned, 0.02}, {kUnsigned, 0.3, 113}, End::kResidual}};
  number = 0;
  for (const ConvShape& s : {ConvShape{64, 64, 30, 56, 3, 1, 1},
                             {32, 48, 17, 19, 3, 1, 1},
                             {48, 128, 21, 40, 3, 1, 0},
                             {128, 64, 12, 13, 3, 1, 1},
                             {64, 32, 50, 9, 5, 1, 2},
                             {64, 256, 43, 59, 1, 1, 0},
                             {128, 128, 9, 7, 1, 1, 0},
                             {48, 64, 31, 33, 1, 1, 0},
                             {128, 512, 61, 37, 1, 1, 0},
                             {208, 192, 50, 67, 1, 1, 0},
                             {256, 1024, 14, 15, 1, 1, 0}})
    for (const Region& r : plain)
      add_conv(cases, fmt::format("hopper quantized conv of a patch {}", ++number), s, r);
  // Lines longer than the products of one warp group.
  const Region curved{{kSigned}, {kSigned, 0.2}, End::kGelu};
  const Region swish{{kSigned}, {kSigned, 0.2}, End::kSwish};
  number = 0;
  for (const ConvShape& s : {ConvShape{64, 64, 11, 80, 3, 1, 1},
                             {32, 32, 9, 160, 3, 1, 1},
                             {64, 128, 5, 200, 3, 1, 1},
                             {32, 64, 7, 100, 3, 1, 0}})
    for (const Region& r : {plain[0], plain[1], curved, swish})
      for (const char* const config : {"parts=", "rows="})
        add_conv(cases, fmt::format("hopper quantized conv of a wide patch {}", ++number), s, r)
            .only("cuda.quantized.patch", config);
  // Groups that go down images, two rows of taps and several strips.
  for (const ConvShape& s : {ConvShape{48, 64, 40, 50, 2, 1, 0}, {96, 128, 33, 66, 3, 1, 1}})
    add_conv(cases, fmt::format("hopper quantized conv down images {}", s.kernel), s, plain[1])
        .only("cuda.quantized.patch", "rows=");
  // Residuals that come with the image, of fewer and of more tiles than a block has at a time.
  for (const ConvShape& s : {ConvShape{64, 256, 43, 59, 1, 1, 0},
                             {128, 512, 61, 37, 1, 1, 0},
                             {208, 192, 50, 67, 1, 1, 0},
                             {256, 1024, 14, 15, 1, 1, 0},
                             {64, 256, 110, 110, 1, 1, 0},
                             {32, 128, 7, 5, 1, 1, 0}})
    add_conv(cases, fmt::format("hopper quantized conv with a residual {}", s.height), s, plain[1])
        .only("cuda.quantized.patch", "addend=1");
  // Several tiles a block, in columns that it holds.
  for (const ConvShape& s : {ConvShape{256, 256, 60, 60, 1, 1, 0}, {32, 96, 80, 80, 3, 1, 1}})
    add_conv(cases, fmt::format("hopper quantized conv held {}", s.kernel), s, plain[0])
        .only("cuda.quantized.hopper");
  // So large that launches walk (jit/hopper.cuh).
  for (const ConvShape& s : {ConvShape{64, 256, 110, 110, 1, 1, 0},
                             {256, 64, 110, 111, 1, 1, 0},
                             {32, 64, 166, 167, 3, 1, 1}})
    add_conv(cases, fmt::format("hopper quantized conv that walks {}", s.in), s, plain[1]);
  // Pixels that are no whole pieces of 16 bytes, two or four of which count as one.
  number = 0;
  for (const ConvShape& s : {ConvShape{24, 72, 20, 28, 1, 1, 0},
                             {72, 24, 28, 20, 1, 1, 0},
                             {40, 120, 7, 7, 1, 1, 0},
                             {184, 80, 14, 14, 1, 1, 0},
                             {12, 20, 10, 12, 1, 1, 0}})
    for (const Region& r : {regions[0], regions[1], regions[2], swish})
      add_conv(cases, fmt::format("hopper quantized conv of short pixels {}", ++number), s, r)
          .only("cuda.quantized.hopper");
  // Few channels, whose weights stay in registers: loads of 16, 8 and 4 bytes, columns that fill no
  // slab or need several warps.
  number = 0;
  Region reals = plain[0];
  reals.quantizes = false;
  for (const ConvShape& s : {ConvShape{24, 72, 20, 28, 1, 1, 0},
                             {72, 24, 28, 20, 1, 1, 0},
                             {16, 64, 31, 33, 1, 1, 0},
                             {16, 16, 40, 40, 1, 1, 0},
                             {40, 120, 7, 7, 1, 1, 0},
                             {128, 32, 9, 10, 1, 1, 0},
                             {12, 20, 10, 12, 1, 1, 0},
                             {80, 184, 14, 14, 1, 1, 0}})
    for (const Region& r : {regions[0], regions[1], regions[2], swish, reals})
      add_conv(cases, fmt::format("ampere quantized conv of few channels {}", ++number), s, r)
          .only("cuda.quantized.short");
  // First convolutions, of images whose rows are whole vectors, or are not.
  number = 0;
  for (const ConvShape& s : {ConvShape{3, 64, 40, 48, 7, 2, 3},
                             {4, 48, 19, 32, 3, 1, 1},
                             {1, 16, 23, 21, 5, 3, 2, 2},
                             {3, 32, 17, 64, 3, 2, 0}})
    for (const Region& r : {regions[0], regions[1], regions[2], swish})
      add_conv(cases, fmt::format("ampere quantized conv of an image {}", ++number), s, r,
               Layout::kChannelsLast, Layout::kRowMajor);
  for (const ConvShape& s : {shapes[0], shapes[2], shapes[4], shapes[8]})
    add_conv(cases, fmt::format("ampere quantized conv swish {}", ++number), s, swish);
  add_conv(cases, "ampere quantized conv of rows", shapes[2], regions[1], Layout::kRowMajor);
  Region real = regions[0];
  real.quantizes = false;
  add_conv(cases, "ampere quantized conv to reals", shapes[1], real);
}

/// Sums of floats keep some 14 bits in tensor cores: each addition of 32 products cuts off the
/// rest.
void add_floats(Cases& cases) {
  const Region regions[] = {{{kFloat8, 0.5}, {kFloat8, 0.4}, End::kBias},
                            {{kFloat8, 0.25}, {}, End::kGelu, false},
                            {{kFloat8, 0.5}, {kFloat8, 0.2}, End::kResidual}};
  const ProductShape shapes[] = {{{128, 128}, 128, true},
                                 {{300, 192}, 264, false},
                                 {{197, 3072}, 776, true},
                                 {{70, 4096}, 136, true}};
  int number = 0;
  for (const ProductShape& s : shapes)
    for (const Region& r : regions) {
      auto& c = add_product(cases, fmt::format("hopper quantized floats {}", ++number), s, r);
      if (!r.quantizes) c.tolerance(1e-3 + static_cast<double>(s.a.back()) / 32 * 0x1p-12);
    }
  for (const ProductShape& s : {shapes[1], shapes[2]})
    add_product(cases, fmt::format("hopper quantized floats gelu {}", ++number), s,
                {{kFloat8, 0.25}, {kFloat8, 0.05}, End::kGelu});
  add_product(cases, "hopper quantized floats held", {{3240, 640}, 776, false}, regions[0]);
  add_conv(cases, "hopper quantized floats conv", {64, 72, 15, 17, 3, 2, 1}, regions[0]);
  add_conv(cases, "hopper quantized floats conv of an image", {3, 64, 33, 40, 7, 2, 3}, regions[0],
           Layout::kChannelsLast, Layout::kRowMajor);
  add_conv(cases, "hopper quantized floats residual", {128, 128, 14, 14, 3, 1, 1}, regions[2]);
}

/// Results of 16 bits, which a tensor like them may join; scales are powers of 2, so that
/// references do not round either.
void add_halves(Cases& cases) {
  const DataType half = DataType::kFloat16;
  struct Row {
    int64_t m, k, n;
    bool joins;
  };
  for (const Row& r : {Row{300, 192, 264, true},
                       {128, 768, 2304, false},
                       {520, 256, 768, true},
                       {197, 1024, 1001, true},
                       {197, 256, 1001, false},
                       {300, 128, 5003, false},
                       {70, 96, 333, false},
                       {3000, 128, 267, false},
                       {131, 64, 70, false},
                       {2100, 208, 640, true},
                       {3240, 272, 1544, true},
                       {2100, 384, 2571, false}}) {
    Dequantize rows, columns = dequantize_along(1);
    rows.to = columns.to = half;
    auto& c = add(cases, fmt::format("ampere quantized product to halves {}x{}x{}", r.m, r.k, r.n),
                  rows, behind(input(numbers(kSigned, {r.m, r.k}, 1)), scaling({kSigned, 0x1p-6})));
    Value* weights = c.aside(
        columns, behind(constant(numbers(kSigned, {r.k, r.n}, 2)), scaling({kSigned, 0x1p-9})));
    c.into_op(MatMul(), weights, {});
    c.then(k_add, constant(random_reals(half, {r.n}, 3)));
    if (r.joins) c.then(k_add, input(random_reals(half, {r.m, r.n}, 4)));
  }
}

/// More of them than threads take at once, sums of which are a result too, or not.
void add_many_rows(Cases& cases) {
  const DataType half = DataType::kFloat16;
  int number = 0;
  for (const auto& [kind, count, length, norm] :
       {std::tuple{Kind{kSigned, 0.03, 5}, 4300, 256, NormKind::kLayer},
        std::tuple{Kind{kUnsigned, 0.02, 100}, 2300, 1028, NormKind::kRms},
        std::tuple{Kind{kFloat8, 0.02}, 2200, 776, NormKind::kLayer},
        std::tuple{Kind{kSigned, 0.03}, 9000, 40, NormKind::kLayer}}) {
    const std::string name = fmt::format("{} quantized many rows {}",
                                         is_real(kind.type) ? "hopper" : "ampere", ++number);
    const double allowed = is_real(kind.type) ? 0.13 : 1;
    const auto rows = [&, count = count, length = length](int seed, double low, double high) {
      return input(random_reals(half, {count, length}, seed, low, high));
    };
    std::vector<CaseInput> factors = {constant(random_reals(half, {length}, 2, 0.5, 1.5))};
    if (norm == NormKind::kLayer) factors.push_back(constant(random_reals(half, {length}, 3)));
    Normalization op;
    op.norm = norm;
    // Far from 0 beside their deviation; some have no number.
    Tensor far = random_reals(half, {count, length}, 1, 9, 11);
    if (!is_real(kind.type))
      for (const int64_t row : {3, count - 1}) far.set_from_double(row * length + 5, NAN);
    add(cases, name, op, behind(input(std::move(far)), factors))
        .into_op(quantize_to(kind.type), scaling(kind))
        .tolerance(allowed)
        .only("cuda.normalization.bytes");
    for (const bool keeps : {false, true}) {
      auto& c = add(cases, name + (keeps ? " of a kept sum" : " of a sum"), Pointwise(k_add),
                    std::vector{rows(4, -1, 1), rows(5, -2, 2)});
      keeps ? c.then_op(op, factors) : c.into_op(op, factors);
      c.into_op(quantize_to(kind.type), scaling(kind)).tolerance(allowed);
    }
  }
}

/// Rows that are normalized, with the sum ahead and the reals beside, or without.
void add_rows(Cases& cases) {
  const DataType half = DataType::kFloat16;
  Normalization layer;
  for (const Kind& kind : {Kind{kSigned, 0.03}, Kind{kUnsigned, 0.02, 100}, Kind{kFloat8, 0.02}})
    for (const int64_t length : {768, 75, 5000}) {
      const double allowed = is_real(kind.type) ? 0.13 : 1;
      const std::string name =
          fmt::format("{} quantized rows {} {}", is_real(kind.type) ? "hopper" : "ampere",
                      name_of(kind.type), length);
      const std::vector<CaseInput> factors = {constant(random_reals(half, {length}, 2)),
                                              constant(random_reals(half, {length}, 3))};
      const auto rows = [&](int seed) { return input(random_reals(half, {37, length}, seed)); };
      add(cases, name, layer, behind(rows(1), factors))
          .into_op(quantize_to(kind.type), scaling(kind))
          .tolerance(allowed);
      add(cases, name + " and reals", layer, behind(rows(1), factors))
          .then_op(quantize_to(kind.type), scaling(kind))
          .tolerance(allowed);
      if (length < 5000)
        add(cases, name + " of a sum", Pointwise(k_add), std::vector{rows(4), rows(5)})
            .then_op(layer, factors)
            .then_op(quantize_to(kind.type), scaling(kind))
            .tolerance(allowed);
    }
  add_many_rows(cases);
}

/// Quantization alone, and its reverse.
void add_linear(Cases& cases) {
  for (const DataType real : {DataType::kFloat16, kFloat, DataType::kBFloat16})
    for (const Kind& kind :
         {Kind{kSigned, 0.01, 3}, Kind{kUnsigned, 0.02, 128}, Kind{kFloat8, 0.5}})
      for (const Extents& extents : {Extents{2, 48, 5, 7}, Extents{3, 37}}) {
        const bool is_float = is_real(kind.type);
        const std::string name =
            fmt::format("{} quantize linear {} {}", is_float ? "hopper" : "ampere", name_of(real),
                        name_of(kind.type));
        add(cases, name, quantize_to(kind.type),
            behind(input(random_reals(real, extents, 1, -3, 3), Layout::kChannelsLast),
                   scaling(kind)))
            .output_layout(Layout::kChannelsLast)
            .tolerance(is_float ? 1e-9 : 0);
        Dequantize back;
        back.to = real;
        add(cases, name + " back", back,
            behind(input(numbers(kind.type, extents, 2), Layout::kChannelsLast), scaling(kind)))
            .output_layout(Layout::kChannelsLast);
      }
}

}  // namespace

Cases quantized_cases() {
  Cases cases;
  add_linear(cases);
  add_rows(cases);
  add_exact(cases);
  add_products(cases);
  add_convs(cases);
  add_rounded_images(cases);
  add_pooled_images(cases);
  add_floats(cases);
  add_halves(cases);
  return cases;
}

}  // namespace tenon::test
