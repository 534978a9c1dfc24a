// Interpolation, scatters, running sums, orders, tensors made from a few numbers, quantization.
#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

constexpr DataType kHalf = DataType::kFloat16, kFloat = DataType::kFloat32;

void add_resizes(Cases& cases) {
  int seed = 0;
  for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic})
    for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast})
      for (const bool antialias : {false, true}) {
        Resize op;
        op.mode = mode;
        op.antialias = antialias && mode != ResizeMode::kNearest;
        op.coordinates = seed % 2 == 0 ? CoordinateMode::kHalfPixel : CoordinateMode::kAsymmetric;
        op.exclude_outside = seed % 3 == 0 && mode == ResizeMode::kCubic;
        add(cases, fmt::format("resize {}", ++seed), op,
            std::vector{
                input(random_reals(seed % 2 == 0 ? kHalf : kFloat, {2, 8, 9, 7}, seed), layout),
                absent(), absent(), list({2, 8, antialias ? 4 : 18, 11})})
            .output_layout(layout);
      }
}

/// Threads that make several elements for the same taps: of packs, of channels, of neither.
void add_shared_resizes(Cases& cases) {
  int seed = 0;
  for (const DataType type : {kHalf, DataType::kBFloat16, kFloat, DataType::kFloat64})
    for (const Extents& image : {Extents{2, 24, 5, 6}, Extents{1, 6, 7, 5}, Extents{3, 7, 4, 8}})
      for (const Extents& size : {Extents{10, 12}, Extents{3, 4}, Extents{5, 9}}) {
        Resize op;
        op.mode = seed % 3 == 2 ? ResizeMode::kCubic : ResizeMode::kLinear;
        op.antialias = seed % 2 == 1;
        add(cases, fmt::format("shared resize {}", ++seed), op,
            std::vector{input(random_reals(type, image, seed)), absent(), absent(),
                        list({image[0], image[1], size[0], size[1]})});
      }
  Resize volume;
  volume.mode = ResizeMode::kLinear;
  add(cases, "shared resize of a volume", volume,
      std::vector{input(random_reals(kHalf, {2, 4, 3, 5, 8}, 1)), absent(), absent(),
                  list({2, 4, 6, 5, 16})});
  add(cases, "shared resize of a line", volume,
      std::vector{input(random_reals(kFloat, {37}, 1)), absent(), absent(), list({101})});
  add(cases, "shared resize of samples", volume,
      std::vector{input(random_reals(kHalf, {3, 16}, 1)), absent(), absent(), list({7, 16})});
  add(cases, "shared resize of nothing", volume,
      std::vector{input(random_reals(kHalf, {2, 3, 16}, 1)), absent(), absent(), list({2, 3, 16})});
}

/// The reference rounds every sum of 16-bit floats.
constexpr double kRoundedSums = 1e-2;

/// Updates of which many meet at one place, in any order of the threads.
void add_scatters(Cases& cases, ScatterReduction reduction, int64_t updates, bool known) {
  const auto integers = [&](Extents extents, int64_t low, int64_t high) {
    Tensor places = random_integers(DataType::kInt64, std::move(extents), 1, low, high);
    return known ? constant(std::move(places)) : input(std::move(places));
  };
  for (const int64_t axis : {1, 2}) {
    ScatterElements elements;
    elements.axis = axis;
    elements.reduction = reduction;
    Extents extents = {3, 5, 5};
    extents[axis] = updates;
    add(cases, fmt::format("scatter_elements of {}", updates), elements,
        std::vector{input(random_reals(kFloat, {4, 6, 7}, 1)), integers(extents, -6, 5),
                    input(random_reals(kFloat, extents, 2))});
  }
  ScatterNd nd;
  nd.reduction = reduction;
  add(cases, fmt::format("scatter_nd of {}", updates), nd,
      std::vector{input(random_reals(kHalf, {4, 4, 33}, 1)), integers({updates, 2}, -4, 3),
                  input(random_reals(kHalf, {updates, 33}, 2))})
      .tolerance(reduction == ScatterReduction::kAdd ? kRoundedSums : 0);
}

void add_scatters(Cases& cases) {
  for (const ScatterReduction reduction :
       {ScatterReduction::kNone, ScatterReduction::kAdd, ScatterReduction::kMul,
        ScatterReduction::kMax, ScatterReduction::kMin})
    add_scatters(cases, reduction, 5, false);
  for (const ScatterReduction reduction : {ScatterReduction::kAdd, ScatterReduction::kMax})
    add_scatters(cases, reduction, 300, false);
  ScatterNd sum;
  sum.reduction = ScatterReduction::kAdd;
  for (const auto& [places, updates, width] : std::initializer_list<std::array<int64_t, 3>>{
           {200, 1600, 64}, {50, 700, 1}, {7, 100, 300}, {3, 40, 1000}})
    for (const DataType type : {kFloat, kHalf, DataType::kInt32}) {
      const auto numbers = [&, type = type](Extents extents, int seed) {
        return input(is_real(type) ? random_reals(type, std::move(extents), seed)
                                   : random_integers(type, std::move(extents), seed, -9, 9));
      };
      add(cases, fmt::format("scatter_nd to {} of {} {}", updates, places, name_of(type)), sum,
          std::vector{
              numbers({places, width}, 1),
              input(random_integers(DataType::kInt64, {updates, 1}, 3, -places, places - 1)),
              numbers({updates, width}, 2)})
          .tolerance(type == kHalf ? kRoundedSums : 0);
    }
  for (const int64_t updates : {1, 9, 3000})
    for (const bool known : {false, true})
      add_scatters(cases, ScatterReduction::kNone, updates, known);
  Tensor apart(DataType::kInt32, {20, 1});  // Places that are known to differ.
  for (int64_t i = 0; i < 20; ++i) apart.set_from_int64(i, i * 7 % 20 - i % 2 * 20);
  add(cases, "scatter_nd apart", ScatterNd(),
      std::vector{input(random_reals(kFloat, {20, 33}, 1)), constant(apart),
                  input(random_reals(kFloat, {20, 33}, 2))});
}

void add_orders(Cases& cases) {
  int number = 0;
  for (const DataType type : {kFloat, kHalf, DataType::kInt64})
    for (const int64_t axis : {0, 1, 2}) {
      const Extents extents = {5, 70, 9};
      const auto values = [&](int64_t low, int64_t high) {
        return input(is_real(type) ? random_reals(type, extents, number, static_cast<double>(low),
                                                  static_cast<double>(high))
                                   : random_integers(type, extents, number, low, high));
      };
      Cumulative sum;
      sum.exclusive = number % 2 == 0;
      sum.reverse = number % 3 == 0;
      add(cases, fmt::format("cumulative {}", ++number), sum,
          std::vector{values(-1, 1), constant(Tensor::scalar_i64(axis))});
      TopK top;
      top.axis = axis;
      top.largest = number % 2 == 0;
      add(cases, fmt::format("topk {}", number), top,
          std::vector{values(-20, 20), list({std::min<int64_t>(extents[axis], 7)})}, 2);
    }
  TopK top;
  add(cases, "topk long", top,
      std::vector{input(random_reals(kFloat, {3, 20000}, 1)), list({1000})}, 2);
  for (const bool log : {false, true}) {
    TopK shares;
    shares.softmax = true, shares.log = log;
    for (const DataType type : {kFloat, kHalf})
      add(cases, "topk of softmax", shares,
          std::vector{input(random_reals(type, {40, 70}, 1)), list({8})}, 2);
  }
  for (const DataType type : {kFloat, kHalf, DataType::kInt64})
    add(cases, "topk of most", top,
        std::vector{input(is_real(type) ? random_reals(type, {3, 3000}, 1)
                                        : random_integers(type, {3, 3000}, 1, -99, 99)),
                    list({2900})},
        2);
  add(cases, "topk ties", top,
      std::vector{input(random_integers(DataType::kInt8, {2, 3000}, 1, -3, 3)), list({300})}, 2);
}

void add_elements(Cases& cases) {
  add(cases, "range", RangeOf(),
      std::vector{constant(Tensor::scalar_i64(-3)), constant(Tensor::scalar_i64(40)),
                  constant(Tensor::scalar_i64(4))});
  for (const int64_t axis : {0, 1, -1}) {
    OneHot op;
    op.axis = axis;
    add(cases, "one_hot", op,
        std::vector{input(random_integers(DataType::kInt64, {4, 5}, 1, -6, 8)),
                    constant(Tensor::scalar_i64(7)), input(random_reals(kHalf, {2}, 2))});
  }
  Fill fill;
  const auto filled = [&] { return std::vector{list({3, 70})}; };
  add(cases, "fill", fill, filled());
  for (const DataType type : {kHalf, DataType::kInt64, DataType::kUInt8, DataType::kBool}) {
    fill.value = Tensor(type, {1});
    fill.value.set_from_double(0, type == DataType::kBool    ? 1
                                  : type == DataType::kUInt8 ? 200
                                                             : -2);
    add(cases, "fill", fill, filled());
  }
  EyeLike eye;
  eye.k = -1;
  add(cases, "eye_like", eye, std::vector{input(random_reals(kHalf, {4, 6}, 2))});
  for (const DataType type : {DataType::kInt8, DataType::kUInt8})
    for (const bool vector : {false, true}) {
      const Extents scale = vector ? Extents{6} : Extents{};
      Quantize quantize;
      quantize.to = type;
      add(cases, "quantize", quantize,
          std::vector{input(random_reals(kFloat, {3, 6, 8}, 1, -9, 9)),
                      constant(random_reals(kFloat, scale, 2, 0.02, 0.1)),
                      constant(random_integers(type, scale, 3, 0, 9))});
      Dequantize dequantize;
      add(cases, "dequantize", dequantize,
          std::vector{input(random_integers(type, {3, 6, 8}, 1, 0, 120)),
                      constant(random_reals(kFloat, scale, 2, 0.02, 0.1)),
                      constant(random_integers(type, scale, 3, 0, 9))});
    }
}

}  // namespace

Cases order_cases() {
  Cases cases;
  add_resizes(cases);
  add_shared_resizes(cases);
  add_scatters(cases);
  add_orders(cases);
  add_elements(cases);
  return cases;
}

}  // namespace tenon::test
