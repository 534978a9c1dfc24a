// Convolutions and matrix products.
#include <array>
#include <cmath>

#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16};

struct Shape2d {
  int64_t in, out, groups, height, width, kernel, stride, pad, dilation;
};

KernelCase& add_conv(Cases& cases, std::string name, const Shape2d& s, DataType type, Layout layout,
                     bool variable = false) {
  Conv op;
  op.groups = s.groups;
  op.strides = {s.stride, s.stride};
  op.pads_begin = op.pads_end = {s.pad, s.pad};
  op.dilations = {s.dilation, s.dilation};
  const Tensor weights =
      random_reals(type, {s.out, s.in / s.groups, s.kernel, s.kernel}, 2, -0.3, 0.3);
  return add(cases, std::move(name), std::move(op),
             std::vector{input(random_reals(type, {2, s.in, s.height, s.width}, 1), layout),
                         variable ? input(weights) : constant(weights),
                         constant(random_reals(type, {s.out}, 3))})
      .output_layout(layout);
}

void add_convs(Cases& cases) {
  const Shape2d shapes[] = {{16, 16, 16, 9, 13, 3, 1, 1, 1}, {24, 24, 24, 14, 14, 5, 2, 2, 1},
                            {40, 40, 40, 7, 9, 3, 1, 2, 2},  {6, 6, 6, 8, 8, 3, 2, 1, 1},
                            {8, 12, 1, 9, 7, 3, 1, 1, 1},    {12, 18, 3, 9, 7, 3, 2, 1, 2},
                            {3, 16, 1, 15, 15, 7, 2, 3, 1},  {5, 7, 1, 6, 6, 1, 1, 0, 1}};
  for (const DataType type : kTypes)
    for (const Layout layout : {Layout::kChannelsLast, Layout::kRowMajor})
      for (const Shape2d& s : shapes) {
        auto& c = add_conv(cases, fmt::format("conv {} {}x{}", name_of(type), s.in, s.out), s, type,
                           layout);
        if (s.stride == 2) c.then(PointwiseFunction::k_hard_swish);
      }
  // Large enough for several rows a thread.
  for (const Shape2d& s :
       {Shape2d{480, 480, 480, 28, 28, 5, 1, 2, 1}, Shape2d{480, 480, 480, 29, 27, 3, 2, 1, 1},
        Shape2d{256, 256, 256, 30, 28, 3, 1, 1, 1}})
    add_conv(cases, fmt::format("conv tall {0}x{0}", s.kernel), s, DataType::kFloat16,
             Layout::kChannelsLast)
        .then(PointwiseFunction::k_hard_swish);
  add_conv(cases, "conv variable weights", shapes[4], DataType::kFloat16, Layout::kChannelsLast,
           true);
  Conv flat;
  flat.strides = {2};
  flat.pad_mode = PadMode::kSameUpper;
  add(cases, "conv one axis", flat,
      std::vector{input(random_reals(DataType::kFloat32, {2, 6, 19}, 1)),
                  constant(random_reals(DataType::kFloat32, {8, 6, 4}, 2))});
  Conv deep;
  add(cases, "conv three axes", deep,
      std::vector{input(random_reals(DataType::kFloat32, {1, 4, 6, 7, 8}, 1)),
                  constant(random_reals(DataType::kFloat32, {4, 4, 3, 2, 3}, 2))});
  for (const int64_t groups : {1, 2}) {
    Deconv op;
    op.groups = groups;
    op.strides = {2, 3};
    op.pads_begin = {1, 0};
    op.pads_end = {0, 1};
    op.output_padding = {1, 0};
    add(cases, "deconv", op,
        std::vector{
            input(random_reals(DataType::kFloat16, {2, 8, 5, 6}, 1), Layout::kChannelsLast),
            constant(random_reals(DataType::kFloat16, {8, 12 / groups, 3, 4}, 2, -0.3, 0.3)),
            constant(random_reals(DataType::kFloat16, {12}, 3))})
        .output_layout(Layout::kChannelsLast)
        .then(PointwiseFunction::k_relu);
  }
}

/// Shapes for tensor cores: channels in eights, tiles that are not full, depths of several chunks.
void add_matrix_convs(Cases& cases) {
  const Shape2d shapes[] = {{16, 24, 1, 9, 13, 3, 1, 1, 1},    {64, 72, 1, 14, 14, 3, 2, 1, 1},
                            {24, 40, 1, 7, 9, 1, 1, 0, 1},     {72, 128, 1, 12, 11, 1, 1, 0, 1},
                            {256, 64, 1, 7, 7, 3, 1, 1, 1},    {128, 320, 1, 8, 8, 1, 2, 0, 1},
                            {40, 16, 1, 10, 10, 3, 1, 2, 2},   {8, 8, 1, 31, 33, 5, 2, 2, 1},
                            {512, 256, 1, 14, 14, 1, 1, 0, 1}, {96, 208, 1, 20, 20, 3, 1, 1, 1},
                            {64, 64, 8, 14, 13, 3, 1, 1, 1},   {96, 96, 4, 9, 10, 3, 2, 1, 1},
                            {128, 64, 8, 11, 9, 3, 1, 1, 1},   {32, 64, 8, 12, 12, 3, 2, 1, 1},
                            {192, 192, 3, 7, 7, 3, 1, 1, 1},   {320, 320, 8, 8, 6, 3, 1, 2, 2},
                            {256, 256, 2, 9, 7, 1, 1, 0, 1}};
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
    for (const Shape2d& s : shapes) {
      auto& c = add_conv(cases,
                         fmt::format("matrix conv {} {}x{}{}", name_of(type), s.in, s.out,
                                     s.groups > 1 ? fmt::format(" in {} groups", s.groups) : ""),
                         s, type, Layout::kChannelsLast);
      const Extents extents = {
          2, s.out, (s.height + 2 * s.pad - s.dilation * (s.kernel - 1) - 1) / s.stride + 1,
          (s.width + 2 * s.pad - s.dilation * (s.kernel - 1) - 1) / s.stride + 1};
      if (s.in % 64 == 0)
        c.then(PointwiseFunction::k_add,
               input(random_reals(type, extents, 5), Layout::kChannelsLast));
      c.then(PointwiseFunction::k_relu);
    }
}

/// The same in f32 without tensor cores: channels that come in fours and others, first layers of
/// either layout, few and many results, depths that blocks of a cluster share.
void add_f32_convs(Cases& cases) {
  const Shape2d shapes[] = {{64, 64, 1, 28, 28, 3, 1, 1, 1},   {512, 256, 1, 7, 7, 3, 1, 1, 1},
                            {24, 40, 1, 9, 13, 3, 2, 1, 2},    {30, 34, 1, 11, 9, 5, 1, 2, 1},
                            {128, 320, 1, 20, 21, 1, 1, 0, 1}, {3, 64, 1, 40, 48, 7, 2, 3, 1},
                            {32, 3, 1, 24, 25, 7, 1, 3, 1},    {64, 96, 4, 12, 11, 3, 1, 1, 1},
                            {54, 51, 3, 9, 8, 3, 2, 1, 1}};
  for (const Layout layout : {Layout::kChannelsLast, Layout::kRowMajor})
    for (const Shape2d& s : shapes) {
      if (layout == Layout::kRowMajor && s.in > 4) continue;
      auto& c = add_conv(cases, fmt::format("ampere conv f32 {}x{}", s.in, s.out), s,
                         DataType::kFloat32, layout)
                    .output_layout(Layout::kChannelsLast);
      if (s.stride == 1 && s.groups == 1)
        c.then(PointwiseFunction::k_add,
               input(random_reals(DataType::kFloat32,
                                  {2, s.out, s.height + 2 * s.pad - s.kernel + 1,
                                   s.width + 2 * s.pad - s.kernel + 1},
                                  5),
                     Layout::kChannelsLast));
      c.then(PointwiseFunction::k_relu);
    }
}

/// Weights of each run are packed first.
void add_computed_convs(Cases& cases) {
  for (const Shape2d& s : {Shape2d{16, 24, 1, 9, 13, 3, 1, 1, 1},
                           {64, 72, 1, 14, 14, 3, 2, 1, 1},
                           {72, 128, 1, 12, 11, 1, 1, 0, 1},
                           {8, 8, 1, 31, 33, 5, 2, 2, 1},
                           {64, 48, 2, 9, 13, 3, 1, 1, 1},
                           {24, 72, 6, 14, 11, 3, 2, 1, 1}})
    for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
      add_conv(cases, fmt::format("conv computed {} {}x{}", name_of(type), s.in, s.out), s, type,
               Layout::kChannelsLast, true)
          .then(PointwiseFunction::k_relu);
}

/// Values that several of the steps behind take: squares, x + f(x), a quotient of sums.
void add_used_twice(Cases& cases) {
  using enum PointwiseFunction;
  for (const DataType type : {DataType::kFloat16, DataType::kFloat32}) {
    for (const auto& [m, n, k] :
         std::vector<std::array<int64_t, 3>>{{40, 48, 64}, {200, 264, 128}, {1, 96, 512}})
      add(cases, fmt::format("matmul used twice {} {}x{}x{}", name_of(type), m, n, k), MatMul(),
          std::vector{input(random_reals(type, {m, k}, 1)),
                      constant(random_reals(type, {k, n}, 2, -0.3, 0.3))})
          .then(k_add, constant(random_reals(type, {n}, 3)))
          .then(k_sigmoid)
          .then_with(k_mul, 1)
          .then(k_add, input(random_reals(type, {m, n}, 4)))
          .then_from(k_neg, 2)
          .then_with(k_sub, 1, true)
          .then_with(k_mul, 0);
    for (const Shape2d& s : {Shape2d{64, 72, 1, 14, 14, 3, 1, 1, 1},
                             {16, 16, 16, 9, 13, 3, 1, 1, 1},
                             {3, 24, 1, 19, 18, 3, 2, 1, 1}})
      add_conv(cases, fmt::format("conv used twice {} {}x{}", name_of(type), s.in, s.out), s, type,
               Layout::kChannelsLast)
          .then(k_tanh)
          .then_with(k_add, 1)
          .then_with(k_mul, 2, true)
          .then(k_relu);
  }
}

/// Pads behind the image alone, and images that lie behind each other.
void add_odd_convs(Cases& cases) {
  Conv wider;
  wider.pads_end = {1, 2};
  wider.pads_begin = {0, 0};
  add(cases, "matrix conv wider than the image", wider,
      std::vector{input(random_reals(DataType::kFloat16, {2, 64, 6, 5}, 1), Layout::kChannelsLast),
                  constant(random_reals(DataType::kFloat16, {32, 64, 1, 1}, 2, -0.3, 0.3)),
                  constant(random_reals(DataType::kFloat16, {32}, 3))})
      .output_layout(Layout::kChannelsLast);
  Conv deep;
  deep.groups = 16;
  deep.pads_begin = deep.pads_end = {0, 1, 1};
  add(cases, "depthwise conv of a volume", deep,
      std::vector{
          input(random_reals(DataType::kFloat16, {2, 16, 4, 6, 5}, 1), Layout::kChannelsLast),
          constant(random_reals(DataType::kFloat16, {16, 1, 1, 3, 3}, 2, -0.3, 0.3))})
      .output_layout(Layout::kChannelsLast);
}

/// Shapes for Hopper's TMA: borders, steps, channels that do not fill a block, tiles that
/// begin within a row and end in another image.
void add_hopper_convs(Cases& cases) {
  const Shape2d shapes[] = {{64, 64, 1, 14, 14, 3, 1, 1, 1},  {128, 96, 1, 20, 20, 3, 1, 1, 1},
                            {64, 72, 1, 15, 17, 3, 2, 1, 1},  {32, 64, 1, 40, 24, 3, 2, 1, 1},
                            {40, 48, 1, 11, 9, 5, 1, 2, 1},   {72, 136, 1, 12, 13, 3, 1, 2, 2},
                            {256, 64, 1, 9, 9, 1, 1, 0, 1},   {128, 200, 1, 13, 11, 1, 2, 0, 1},
                            {256, 256, 1, 7, 7, 3, 1, 1, 1},  {64, 128, 1, 60, 52, 3, 1, 1, 1},
                            {96, 64, 1, 10, 10, 3, 1, 0, 1},  {16, 32, 1, 130, 125, 3, 1, 1, 1},
                            {64, 320, 1, 64, 64, 1, 1, 0, 1}, {64, 64, 1, 107, 108, 3, 1, 1, 1}};
  int number = 500;
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
    for (const Shape2d& s : shapes) {
      if (type == DataType::kBFloat16 && ++number % 4 != 0) continue;
      auto& c = add_conv(cases, fmt::format("hopper conv {} {}x{}", name_of(type), s.in, s.out), s,
                         type, Layout::kChannelsLast);
      const auto extent = [&](int64_t in) {
        return (in + 2 * s.pad - s.dilation * (s.kernel - 1) - 1) / s.stride + 1;
      };
      c.then(PointwiseFunction::k_relu);
      if (s.in % 64 == 0)
        c.then(PointwiseFunction::k_add,
               input(random_reals(type, {2, s.out, extent(s.height), extent(s.width)}, 5),
                     Layout::kChannelsLast));
    }
  // A kernel, pads and steps that differ along the axes.
  Conv op;
  op.strides = {1, 2};
  op.pads_begin = {2, 0};
  op.pads_end = {0, 1};
  op.dilations = {1, 2};
  add(cases, "hopper conv uneven", op,
      std::vector{
          input(random_reals(DataType::kFloat16, {3, 64, 13, 22}, 1), Layout::kChannelsLast),
          constant(random_reals(DataType::kFloat16, {64, 64, 3, 2}, 2, -0.3, 0.3)),
          constant(random_reals(DataType::kFloat16, {64}, 3))})
      .output_layout(Layout::kChannelsLast)
      .then(PointwiseFunction::k_hard_swish);
}

/// Parts of images: less of each row, column and pixel than there is.
void add_convs_of_parts(Cases& cases) {
  for (const Shape2d& s : {Shape2d{64, 40, 1, 13, 22, 2, 1, 1, 1}, {64, 64, 64, 17, 9, 3, 1, 1, 1}})
    for (const auto& [more_channels, more_rows, more_columns] :
         std::vector<std::array<int64_t, 3>>{{0, 0, 3}, {0, 2, 1}, {16, 1, 0}}) {
      Conv op;
      op.groups = s.groups;
      op.pads_begin = op.pads_end = {s.pad, s.pad};
      const Extents image{2, s.in, s.height, s.width};
      const Extents all{2, s.in + more_channels, s.height + more_rows, s.width + more_columns};
      add(cases, fmt::format("hopper conv of a part {} {}", s.groups, all[3]), op,
          std::vector{
              corner(input(random_reals(DataType::kFloat16, image, 1), Layout::kChannelsLast), all),
              constant(random_reals(DataType::kFloat16,
                                    {s.out, s.in / s.groups, s.kernel, s.kernel}, 2, -0.3, 0.3)),
              constant(random_reals(DataType::kFloat16, {s.out}, 3))})
          .output_layout(Layout::kChannelsLast)
          .then(PointwiseFunction::k_relu);
    }
}

/// Images of a few colours at the end of a network.
void add_convs_to_colours(Cases& cases) {
  for (const int64_t colours : {1, 3, 4, 12})
    for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
      add_conv(cases, fmt::format("hopper conv to {} colours {}", colours, name_of(type)),
               {32, colours, 1, 27, 30, 3, 1, 1, 1}, type, Layout::kChannelsLast)
          .then(PointwiseFunction::k_tanh);
  add_conv(cases, "hopper conv to colours of many pixels", {64, 3, 1, 130, 128, 7, 1, 3, 1},
           DataType::kFloat16, Layout::kChannelsLast);
}

/// Many tiles, the last ones not full.
void add_large_convs(Cases& cases) {
  for (const Shape2d& s :
       {Shape2d{16, 40, 1, 100, 90, 3, 1, 1, 1}, Shape2d{64, 320, 1, 90, 90, 1, 1, 0, 1},
        Shape2d{128, 72, 1, 150, 150, 1, 1, 0, 1}, Shape2d{128, 64, 1, 95, 95, 3, 1, 1, 1}})
    add_conv(cases, fmt::format("conv tiles {}x{}", s.in, s.out), s, DataType::kFloat16,
             Layout::kChannelsLast)
        .then(PointwiseFunction::k_add,
              input(random_reals(DataType::kFloat16, {2, s.out, s.height, s.width}, 5),
                    Layout::kChannelsLast))
        .then(PointwiseFunction::k_relu);
}

/// First layers, which are read channels-first or channels-last.
void add_stems(Cases& cases) {
  const Shape2d shapes[] = {{3, 64, 1, 40, 48, 7, 2, 3, 1}, {3, 16, 1, 37, 41, 3, 2, 1, 1},
                            {1, 32, 1, 33, 64, 5, 2, 2, 1}, {4, 48, 1, 32, 32, 4, 4, 0, 1},
                            {3, 32, 1, 31, 40, 3, 2, 0, 1}, {3, 48, 1, 30, 37, 7, 1, 3, 1},
                            {1, 64, 1, 33, 40, 5, 1, 2, 1}, {2, 16, 1, 41, 56, 3, 3, 1, 1},
                            {4, 32, 1, 29, 50, 4, 1, 0, 1}};
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
    for (const Layout layout : {Layout::kChannelsLast, Layout::kRowMajor})
      for (const Shape2d& s : shapes)
        add_conv(cases, fmt::format("matrix conv stem {} {}x{}", name_of(type), s.in, s.out), s,
                 type, layout)
            .output_layout(Layout::kChannelsLast)
            .then(PointwiseFunction::k_hard_swish);
}

void add_products(Cases& cases) {
  struct Product {
    Extents a, b;
    bool transpose_a, transpose_b;
  };
  const Product products[] = {{{65, 40}, {40, 70}, false, false},
                              {{2, 3, 17, 33}, {3, 33, 20}, false, false},
                              {{40, 66}, {130, 40}, true, true},
                              {{1, 768}, {768, 1000}, false, false},
                              {{5, 512}, {264, 512}, false, true},
                              {{16, 200}, {200, 96}, false, false},
                              {{1, 2048}, {1001, 2048}, false, true},
                              {{2, 100}, {37, 100}, false, true},
                              {{3, 64}, {64}, false, false},
                              {{64}, {64, 48}, false, false},
                              {{4, 1, 9, 16}, {2, 16, 12}, false, false}};
  int seed = 0;
  for (const DataType type : kTypes)
    for (const Product& p : products) {
      MatMul op;
      op.transpose_a = p.transpose_a;
      op.transpose_b = p.transpose_b;
      ++seed;
      auto& c = add(cases, fmt::format("matmul {} {}", name_of(type), seed), std::move(op),
                    std::vector{input(random_reals(type, p.a, seed, -0.2, 0.2)),
                                constant(random_reals(type, p.b, seed + 1, -0.2, 0.2))});
      if (p.b.size() == 2 && p.a.size() == 2)
        c.then(PointwiseFunction::k_add,
               constant(random_reals(type, {p.b[p.transpose_b ? 0 : 1]}, seed + 2)))
            .then(PointwiseFunction::k_gelu_erf);
    }
  add(cases, "matmul i8", MatMul(),
      std::vector{input(random_integers(DataType::kInt8, {20, 30}, 1, -128, 127)),
                  input(random_integers(DataType::kInt8, {30, 9}, 2, -128, 127))});
  add(cases, "matmul f64", MatMul(),
      std::vector{input(random_reals(DataType::kFloat64, {20, 30}, 1)),
                  input(random_reals(DataType::kFloat64, {30, 9}, 2))});
}

struct HopperProduct {
  Extents a, b;
  bool transpose_a, transpose_b;
  int end;  ///< 0: nothing, 1: bias and GELU, 2: bias and residual.
};

/// Tiles of tensor cores with tails, in every order of the operands.
void add_hopper_products(Cases& cases) {
  const HopperProduct products[] = {
      {{128, 64}, {128, 64}, false, true, 0},        {{128, 64}, {64, 128}, false, false, 0},
      {{64, 128}, {64, 128}, true, false, 0},        {{300, 200}, {200, 264}, false, false, 1},
      {{197, 768}, {776, 768}, false, true, 2},      {{2, 99, 320}, {320, 328}, false, false, 2},
      {{3, 72, 136}, {3, 136, 88}, false, false, 0}, {{3, 72, 136}, {1, 88, 136}, false, true, 1},
      {{520, 768}, {768, 1001}, false, false, 1}};
  int seed = 100;
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
    for (const HopperProduct& p : products) {
      MatMul op;
      op.transpose_a = p.transpose_a;
      op.transpose_b = p.transpose_b;
      ++seed;
      const Tensor b = random_reals(type, p.b, seed + 50, -0.2, 0.2);
      const int64_t n = p.b[p.b.size() - (p.transpose_b ? 2 : 1)];
      Extents result = p.a;
      result.back() = n;
      auto& c = add(cases, fmt::format("hopper {} {}", name_of(type), seed), std::move(op),
                    std::vector{input(random_reals(type, p.a, seed, -0.2, 0.2)),
                                p.b.size() == 2 ? constant(b) : input(b)});
      if (p.end > 0) c.then(PointwiseFunction::k_add, constant(random_reals(type, {n}, seed + 2)));
      if (p.end == 1) c.then(PointwiseFunction::k_gelu_erf);
      if (p.end == 2) c.then(PointwiseFunction::k_add, input(random_reals(type, result, seed + 3)));
    }
}

/// Results in f32: regions that end in a cast.
void add_widened_products(Cases& cases) {
  int seed = 300;
  for (const auto& [m, k, n] : std::initializer_list<std::array<int64_t, 3>>{
           {130, 128, 264}, {70, 64, 501}, {3, 64, 96}, {300, 192, 257}}) {
    ++seed;
    auto& c = add(cases, fmt::format("hopper widened {}", seed), MatMul(),
                  std::vector{input(random_reals(DataType::kFloat16, {m, k}, seed, -0.2, 0.2)),
                              constant(random_reals(DataType::kFloat16, {k, n}, 9, -0.2, 0.2))});
    if (seed % 2 == 0)
      c.then(PointwiseFunction::k_add, constant(random_reals(DataType::kFloat16, {n}, seed)));
    // The reference rounds before the cast.
    c.then_cast(DataType::kFloat32).tolerance(2e-3);
  }
}

/// More tiles than multiprocessors, rows that are aligned by 16 bytes or by one element.
void add_tall_products(Cases& cases) {
  struct Tall {
    int64_t m, k, n;
    DataType type;
    bool widened;
    int end;  ///< As in HopperProduct.
  };
  const DataType f16 = DataType::kFloat16, bf16 = DataType::kBFloat16;
  int seed = 400;
  for (const Tall& t : {Tall{2100, 200, 1536, f16, false, 2}, Tall{1100, 136, 3001, f16, false, 0},
                        Tall{1030, 136, 3001, f16, true, 0}, Tall{200, 1032, 776, bf16, false, 1},
                        Tall{1112, 136, 3001, f16, false, 1}, Tall{1048, 72, 4100, bf16, false, 2},
                        Tall{900, 72, 4098, bf16, false, 2}, Tall{2037, 200, 3072, f16, false, 1},
                        // Few rows, as a batch between two others has them.
                        Tall{5, 264, 1000, f16, false, 1}, Tall{7, 2048, 1000, f16, false, 2}}) {
    ++seed;
    auto& c = add(cases, fmt::format("hopper tall {}", seed), MatMul(),
                  std::vector{input(random_reals(t.type, {t.m, t.k}, seed, -0.2, 0.2)),
                              constant(random_reals(t.type, {t.k, t.n}, 9, -0.2, 0.2))});
    if (t.end > 0) c.then(PointwiseFunction::k_add, constant(random_reals(t.type, {t.n}, 7)));
    if (t.end == 1) c.then(PointwiseFunction::k_gelu_tanh);
    if (t.end == 2) c.then(PointwiseFunction::k_add, input(random_reals(t.type, {t.m, t.n}, 8)));
    if (t.widened) c.then_cast(DataType::kFloat32).tolerance(2e-3);
  }
}

/// Moments of rows as Standardize takes them.
Tensor moments_of(const Tensor& rows) {
  const int64_t group = RowMoments().group;
  Extents extents = rows.extents();
  extents.back() /= group;
  extents.push_back(2);
  Tensor moments(DataType::kFloat32, extents);
  for (int64_t i = 0; i < rows.count() / group; ++i) {
    double mean = 0, squares = 0;
    for (int64_t j = 0; j < group; ++j) mean += rows.as_double(i * group + j) / double(group);
    for (int64_t j = 0; j < group; ++j)
      squares += std::pow(rows.as_double(i * group + j) - mean, 2);
    moments.set_from_double(2 * i, mean);
    moments.set_from_double(2 * i + 1, squares);
  }
  return moments;
}

struct Product {
  MatMul op;
  Extents weights, result;
};

/// Of rows [..., k] with weights of n columns.
Product product_of(const Extents& rows, int64_t n, bool transpose_b) {
  Product product;
  product.op.transpose_b = transpose_b;
  product.weights = transpose_b ? Extents{n, rows.back()} : Extents{rows.back(), n};
  product.result = rows;
  product.result.back() = n;
  return product;
}

/// Halves of a normalization in front of products and behind them: tails, few rows and many, one
/// tile and several, a mean that is large beside the deviations.
void add_halves_of_normalization(Cases& cases) {
  struct Halves {
    Extents a;
    int64_t n;
    double mean;
    NormKind norm;
    int end;  ///< 1: bias and GELU, 2: bias and a residual, 3: a cast to f32.
    bool transpose_b, standardizes, gives;
  };
  const NormKind layer = NormKind::kLayer, rms = NormKind::kRms;
  const Halves products[] = {{{197, 768}, 2304, 0.5, layer, 1, false, true, false},
                             {{64, 64}, 128, 0, layer, 0, false, true, true},
                             {{1, 197, 768}, 776, 30, layer, 2, true, true, false},
                             {{300, 192}, 1001, -2, layer, 3, false, true, false},
                             {{256, 512}, 512, 1, rms, 1, false, true, true},
                             {{2100, 128}, 1536, 4, layer, 2, false, true, true},
                             {{3, 1024}, 96, 8, rms, 2, true, true, true},
                             {{197, 768}, 768, 0, layer, 2, false, false, true},
                             {{2, 130, 136}, 160, 5, layer, 2, true, false, true},
                             {{70, 96}, 200, 1, layer, 1, false, true, false}};
  int seed = 600;
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
    for (const Halves& p : products) {
      ++seed;
      const auto [product, b, result] = product_of(p.a, p.n, p.transpose_b);
      const Tensor rows = random_reals(type, p.a, seed, p.mean - 1, p.mean + 1);
      const CaseInput weights = constant(random_reals(type, b, seed + 50, -0.1, 0.1));
      Standardize half;
      half.norm = p.norm;
      const std::string name = fmt::format("hopper halves {} {}", name_of(type), seed);
      auto& c = p.standardizes
                    ? add(cases, name, half, std::vector{input(rows), input(moments_of(rows))})
                          .into_op(product, {weights})
                    : add(cases, name, product, std::vector{input(rows), weights});
      if (p.end > 0 && p.end < 3)
        c.then(PointwiseFunction::k_add, constant(random_reals(type, {p.n}, seed + 2)));
      if (p.end == 1) c.then(PointwiseFunction::k_gelu_erf);
      if (p.end == 2) c.then(PointwiseFunction::k_add, input(random_reals(type, result, seed + 3)));
      if (p.end == 3) c.then_cast(DataType::kFloat32);
      if (p.gives) c.then_op(RowMoments(), {});
      // Kernels may round standardized values.
      c.roundings(2, type);
    }
}

/// Two of each four along the axis become 0, different ones from place to place.
Tensor made_sparse(Tensor weights, size_t axis) {
  const Extents& extents = weights.extents();
  int64_t inner = 1;
  for (size_t i = axis + 1; i < extents.size(); ++i) inner *= extents[i];
  // Pairs of places that stay, and places that stay alone or not.
  constexpr int kStays[] = {3, 5, 9, 6, 10, 12, 1, 2, 4, 8, 0};
  for (int64_t i = 0; i < weights.count(); ++i) {
    const int64_t along = i / inner % extents[axis],
                  group = i / inner / extents[axis] * 7 + along / 4;
    if ((kStays[(group * 5 + i % inner * 3) % 11] >> along % 4 & 1) == 0)
      weights.set_from_double(i, 0);
  }
  return weights;
}

/// Products that end in a gate: one row and many, tails of rows and columns, rows of the result
/// that are aligned by 16 bytes or by one element, sums that blocks share, a normalization in
/// front.
void add_gated_products(Cases& cases) {
  using enum PointwiseFunction;
  struct Gated {
    Extents a;
    int64_t n;  ///< Columns of the result.
    PointwiseFunction function;
    bool bias, transpose_b, standardizes, sparse;
  };
  const Gated products[] = {{{1, 64}, 32, k_swish, false, true, false, false},
                            {{3, 2048}, 72, k_gelu_erf, false, false, false, false},
                            {{1, 37, 256}, 344, k_swish, true, false, false, false},
                            {{300, 192}, 1001, k_gelu_tanh, true, false, false, false},
                            {{2, 130, 136}, 503, k_sigmoid, false, true, false, false},
                            {{2100, 128}, 1536, k_relu, true, true, false, false},
                            {{1040, 72}, 2050, k_swish, false, false, false, false},
                            {{197, 768}, 1024, k_swish, true, true, true, false},
                            {{5, 512}, 1376, k_gelu_tanh, false, false, true, false},
                            {{128, 256}, 128, k_swish, true, false, false, true},
                            {{197, 768}, 776, k_hard_sigmoid, false, true, true, true}};
  int seed = 1300;
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
    for (const Gated& p : products) {
      ++seed;
      const auto [product, b, result] = product_of(p.a, 2 * p.n, p.transpose_b);
      const Tensor rows = random_reals(type, p.a, seed);
      Tensor weights = random_reals(type, b, seed + 50, -0.2, 0.2);
      if (p.sparse) weights = made_sparse(weights, p.transpose_b ? 1 : 0);
      const std::string name = fmt::format("hopper gated {} {}", name_of(type), seed);
      auto& c =
          p.standardizes
              ? add(cases, name, Standardize(), std::vector{input(rows), input(moments_of(rows))})
                    .into_op(product, {constant(weights)})
              : add(cases, name, product, std::vector{input(rows), constant(weights)});
      if (p.bias) c.then(k_add, constant(random_reals(type, {2 * p.n}, seed + 2)));
      GatedUnit gate;
      gate.function = p.function;
      gate.alpha = p.function == k_hard_sigmoid ? 0.2 : 1;
      gate.beta = 0.5;
      c.into_op(gate, {});
      // Kernels may round standardized values.
      if (p.standardizes) c.roundings(2, type);
    }
}

/// Weights for sparse tensor cores, with all that stands behind dense ones.
void add_sparse_products(Cases& cases) {
  struct Sparse {
    Extents a;
    int64_t n;
    bool transpose_b;
    int end;  ///< As in HopperProduct; 3: a cast to f32.
    bool standardizes, gives;
  };
  const Sparse products[] = {
      {{64, 64}, 64, true, 0, false, false},       {{128, 256}, 128, false, 1, false, false},
      {{300, 200}, 264, false, 2, false, false},   {{197, 768}, 776, true, 2, false, false},
      {{2, 99, 320}, 328, false, 1, false, false}, {{520, 768}, 1001, false, 3, false, false},
      {{2100, 200}, 1536, false, 2, false, false}, {{197, 768}, 2304, true, 1, true, false},
      {{256, 512}, 512, false, 2, true, true},     {{1, 197, 768}, 768, false, 2, false, true}};
  int seed = 900;
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
    for (const Sparse& p : products) {
      ++seed;
      const auto [product, b, result] = product_of(p.a, p.n, p.transpose_b);
      const Tensor rows = random_reals(type, p.a, seed);
      const CaseInput weights =
          constant(made_sparse(random_reals(type, b, seed + 50, -0.2, 0.2), p.transpose_b ? 1 : 0));
      const std::string name = fmt::format("hopper sparse {} {}", name_of(type), seed);
      auto& c = p.standardizes ? add(cases, name, Standardize(),
                                     std::vector{input(rows), input(moments_of(rows))})
                                     .into_op(product, {weights})
                               : add(cases, name, product, std::vector{input(rows), weights});
      if (p.end == 1 || p.end == 2)
        c.then(PointwiseFunction::k_add, constant(random_reals(type, {p.n}, seed + 2)));
      if (p.end == 1) c.then(PointwiseFunction::k_gelu_erf);
      if (p.end == 2) c.then(PointwiseFunction::k_add, input(random_reals(type, result, seed + 3)));
      if (p.end == 3) c.then_cast(DataType::kFloat32).tolerance(2e-3);
      if (p.gives) c.then_op(RowMoments(), {});
      if (p.standardizes || p.gives) c.roundings(2, type);
    }
}

void add_sparse_convs(Cases& cases) {
  struct Sparse {
    int64_t batch, in, out, size, kernel, stride;
  };
  int seed = 950;
  for (const DataType type : {DataType::kFloat16, DataType::kBFloat16})
    for (const Sparse& s : {Sparse{1, 64, 64, 14, 3, 1}, Sparse{2, 128, 256, 14, 1, 1},
                            Sparse{3, 40, 72, 15, 3, 2}, Sparse{5, 256, 128, 9, 1, 2}}) {
      ++seed;
      const int64_t pad = s.kernel / 2;
      Conv op;
      op.strides = {s.stride, s.stride};
      op.pads_begin = op.pads_end = {pad, pad};
      const int64_t size = (s.size + 2 * pad - s.kernel) / s.stride + 1;
      const Extents x{s.batch, s.in, s.size, s.size}, y{s.batch, s.out, size, size};
      add(cases, fmt::format("hopper sparse conv {} {}", name_of(type), seed), op,
          std::vector{
              input(random_reals(type, x, seed), Layout::kChannelsLast),
              constant(made_sparse(
                  random_reals(type, {s.out, s.in, s.kernel, s.kernel}, seed + 1, -0.2, 0.2), 1)),
              constant(random_reals(type, {s.out}, seed + 2))})
          .then(PointwiseFunction::k_add,
                input(random_reals(type, y, seed + 3), Layout::kChannelsLast))
          .then(PointwiseFunction::k_relu)
          .output_layout(Layout::kChannelsLast);
    }
}

}  // namespace

Cases product_cases() {
  Cases cases;
  add_convs(cases);
  add_matrix_convs(cases);
  add_f32_convs(cases);
  add_computed_convs(cases);
  add_odd_convs(cases);
  add_used_twice(cases);
  add_large_convs(cases);
  add_hopper_convs(cases);
  add_convs_of_parts(cases);
  add_convs_to_colours(cases);
  add_stems(cases);
  add_products(cases);
  add_hopper_products(cases);
  add_widened_products(cases);
  add_tall_products(cases);
  add_halves_of_normalization(cases);
  add_gated_products(cases);
  add_sparse_products(cases);
  add_sparse_convs(cases);
  return cases;
}

}  // namespace tenon::test
