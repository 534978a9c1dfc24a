#include <algorithm>
#include <cmath>
#include <complex>
#include <numbers>
#include <utility>

#include "node_harness.h"

namespace tenon::test {
namespace {

/// Convolution by its definition.
std::vector<float> direct_conv(const Tensor& x, const Tensor& w, const Conv& op, int64_t oh,
                               int64_t ow) {
  const auto xs = x.values<float>(), ws = w.values<float>();
  const Extents &xe = x.extents(), &we = w.extents();
  std::vector<float> y;
  for (int64_t n = 0; n < xe[0]; ++n)
    for (int64_t f = 0; f < we[0]; ++f)
      for (int64_t p = 0; p < oh * ow; ++p) {
        float sum = 0;
        for (int64_t k = 0; k < we[1] * we[2] * we[3]; ++k) {
          const int64_t c = f / (we[0] / op.groups) * we[1] + k / (we[2] * we[3]);
          const int64_t i =
              p / ow * op.strides[0] + k / we[3] % we[2] * op.dilations[0] - op.pads_begin[0];
          const int64_t j = p % ow * op.strides[1] + k % we[3] * op.dilations[1] - op.pads_begin[1];
          if (i >= 0 && i < xe[2] && j >= 0 && j < xe[3])
            sum +=
                xs[((n * xe[1] + c) * xe[2] + i) * xe[3] + j] * ws[f * we[1] * we[2] * we[3] + k];
        }
        y.push_back(sum);
      }
  return y;
}

TEST(Nn, ConvMatchesItsDefinition) {
  Conv op;
  op.groups = 2;
  op.strides = {2, 1};
  op.dilations = {1, 2};
  op.pads_begin = {1, 0};
  op.pads_end = {1, 2};
  const Tensor x = ramp({2, 4, 7, 9}, -3, 0.01f), w = ramp({6, 2, 3, 3}, -1, 0.02f);
  expect_floats(run(op, {x, w})[0], direct_conv(x, w, op, 4, 7));
}

/// Windows that move by one pixel are evaluated without columns where padding adds little.
TEST(Nn, ConvOfEachPixelMatchesItsDefinition) {
  struct Case {
    Extents x, w;
    int64_t groups;
    std::vector<int64_t> dilations, pads_begin, pads_end;
  };
  const Case cases[] = {
      {{2, 4, 9, 11}, {6, 2, 3, 3}, 2, {1, 1}, {1, 1}, {1, 1}},
      {{1, 5, 20, 17}, {5, 1, 3, 5}, 5, {1, 1}, {0, 2}, {2, 2}},   // Depthwise.
      {{1, 2, 16, 16}, {3, 2, 3, 2}, 1, {2, 3}, {3, 0}, {1, 2}},   // Pads that differ.
      {{1, 2, 8, 30}, {3, 2, 3, 3}, 1, {1, 1}, {-1, 1}, {1, -2}},  // Pixels cut off.
      {{1, 1, 90, 100}, {9, 1, 3, 3}, 1, {1, 1}, {1, 1}, {1, 1}},  // More sums than one block has.
      {{1, 2, 5, 5}, {3, 2, 3, 3}, 1, {4, 4}, {4, 4}, {4, 4}},     // Mostly padding.
      {{1, 2, 1, 40}, {3, 2, 1, 4}, 1, {1, 1}, {0, 0}, {0, 0}}};
  for (const Case& one : cases) {
    Conv op;
    op.groups = one.groups;
    op.strides = {1, 1};
    op.dilations = one.dilations;
    op.pads_begin = one.pads_begin;
    op.pads_end = one.pads_end;
    const Tensor x = ramp(one.x, -3, 0.01f), w = ramp(one.w, -1, 0.02f);
    const Tensor y = run(op, {x, w})[0];
    expect_floats(y, direct_conv(x, w, op, y.extents()[2], y.extents()[3]));
  }
}

/// Of three axes: the sum over the planes of a window's depth.
TEST(Nn, ConvOfVolumesIsASumOfPlanes) {
  Conv volume, plane;
  volume.pads_begin = volume.pads_end = {0, 1, 1};
  plane.strides = plane.dilations = {1, 1};
  plane.pads_begin = plane.pads_end = {1, 1};
  const Tensor x = ramp({1, 1, 4, 6, 7}, -2, 0.02f), w = ramp({1, 1, 2, 3, 3}, -1, 0.1f);
  std::vector<float> expected;
  for (int64_t z = 0; z < 3; ++z) {
    std::vector<float> sum(6 * 7);
    for (int64_t k = 0; k < 2; ++k) {
      const auto image = x.values<float>().subspan((z + k) * 42, 42);
      const auto weights = w.values<float>().subspan(k * 9, 9);
      const auto part =
          direct_conv(floats({1, 1, 6, 7}, {image.begin(), image.end()}),
                      floats({1, 1, 3, 3}, {weights.begin(), weights.end()}), plane, 6, 7);
      for (size_t i = 0; i < sum.size(); ++i) sum[i] += part[i];
    }
    expected.insert(expected.end(), sum.begin(), sum.end());
  }
  expect_floats(run(volume, {x, w})[0], expected);
}

TEST(Nn, IntegerConvAddsUpIn32Bits) {
  const std::vector<uint8_t> x = {255, 255};
  const std::vector<int8_t> w = {-128, 127};
  const Tensor y = run(Conv(), {Tensor::of<uint8_t>(DataType::kUInt8, {1, 1, 2}, x),
                                Tensor::of<int8_t>(DataType::kInt8, {1, 1, 2}, w)})[0];
  EXPECT_EQ(y.type(), DataType::kInt32);
  EXPECT_EQ(y.as_int64(0), -255);
}

TEST(Nn, DeconvSpreadsItsInput) {
  Deconv op;
  op.strides = {2};
  expect_floats(run(op, {floats({1, 1, 2}, {1, 2}), floats({1, 1, 3}, {1, 10, 100})})[0],
                {1, 10, 102, 20, 200});
}

TEST(Nn, AveragePoolCountsPaddingOnlyWhenAsked) {
  Pool op;
  op.function = PoolFunction::kAverage;
  op.kernel = {3};
  op.pads_begin = op.pads_end = {1};
  expect_floats(run(op, {floats({1, 1, 3}, {3, 6, 9})})[0], {4.5f, 6, 7.5f});
  op.count_include_pad = true;
  expect_floats(run(op, {floats({1, 1, 3}, {3, 6, 9})})[0], {3, 6, 5});
}

TEST(Nn, MaxPoolCeilModeDropsWindowsInTheTrailingPad) {
  Pool op;
  op.kernel = {2};
  op.strides = {2};
  op.ceil_mode = true;
  const auto y = run(op, {ramp({1, 1, 5})}, 2);
  expect_floats(y[0], {1, 3, 4});
  EXPECT_EQ(y[1].to_int64s(), (std::vector<int64_t>{1, 3, 4}));
}

TEST(Nn, SoftmaxAndLayerNormalization) {
  expect_floats(run(Softmax(), {floats({1, 2}, {0, std::log(3.0f)})})[0], {0.25f, 0.75f});
  Normalization op;
  op.epsilon = 0;
  expect_floats(
      run(op, {floats({2, 2}, {1, 3, 5, 5.5f}), floats({2}, {2, 2}), floats({2}, {1, 1})})[0],
      {-1, 3, -1, 3});
}

TEST(Nn, SoftmaxOfManyNumbersAddsUpToOne) {
  std::vector<float> x(70001, -1.0F);
  x[0] = 0;
  const Tensor y = run(Softmax(), {floats({1, 70001}, x)})[0];
  double sum = 0;
  for (int64_t i = 0; i < y.count(); ++i) sum += y.as_double(i);
  EXPECT_NEAR(sum, 1, tolerance(Computation::kReference, DataType::kFloat32).relative);
}

/// A window of two channels reaches to the one behind; past the last there is nothing.
TEST(Nn, LocalResponseOfAnEvenNumberOfChannels) {
  Lrn op;
  op.size = 2, op.alpha = 2, op.beta = 1, op.bias = 1;
  expect_floats(run(op, {floats({1, 3, 1}, {1, 2, 3})})[0], {1.0F / 6, 2.0F / 14, 0.3F});
}

TEST(Nn, GroupsOfEachImageAreNormalizedAlone) {
  Normalization op;
  op.norm = NormKind::kGroup;
  op.groups = 2;
  op.epsilon = 1e-12;
  expect_floats(run(op, {floats({2, 4, 1}, {0, 2, 4, 8, 3, -3, 10, 11})})[0],
                {-1, 1, -1, 1, 1, -1, -1, 1});
}

TEST(Nn, ResizeLinearAndNearest) {
  Resize op;
  const Tensor x = floats({1, 2}, {1, 3}), none;
  expect_floats(run(op, {x, none, floats({2}, {1, 2})})[0], {1, 1, 3, 3});
  op.mode = ResizeMode::kLinear;
  expect_floats(run(op, {x, none, floats({2}, {1, 2})})[0], {1, 1.5f, 2.5f, 3});
  op.coordinates = CoordinateMode::kAlignCorners;
  expect_floats(run(op, {x, none, none, ints({1, 3})})[0], {1, 2, 3});
}

TEST(Nn, ResizeByRatiosGivesTheirNumerators) {
  Resize op;
  for (const auto& [from, to] : {std::pair{7, 9}, {9, 13}, {7, 11}, {3, 10}, {41, 5}}) {
    const Tensor x = floats({1, from}, std::vector<float>(static_cast<size_t>(from), 2));
    const float scale = static_cast<float>(to) / static_cast<float>(from);
    const auto y = run(op, {x, Tensor(), floats({2}, {1, scale})});
    EXPECT_EQ(y[0].extents(), (Extents{1, to})) << from << " to " << to;
  }
}

/// Also where input and scale alone would give 1.5 elements.
TEST(Nn, ResizeToOneElementTakesTheFirst) {
  Resize op;
  op.coordinates = CoordinateMode::kPytorchHalfPixel;
  const Tensor x = floats({1, 3}, {1, 3, 9}), none;
  for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic})
    for (const bool exclude : {false, true}) {
      op.mode = mode, op.exclude_outside = exclude;
      expect_floats(run(op, {x, none, floats({2}, {1, 0.5f})})[0], {1});
    }
}

/// 6 of 4 elements at the scale of the other axis, 1.4: not 1.5.
TEST(Nn, ResizeThatKeepsTheAspectHasOneScaleOfAllAxes) {
  Resize op;
  op.mode = ResizeMode::kLinear;
  op.coordinates = CoordinateMode::kAsymmetric;
  op.aspect = AspectPolicy::kNotLarger;
  const Tensor x =
      floats({4, 5}, {0, 0, 0, 0, 0, 14, 14, 14, 14, 14, 28, 28, 28, 28, 28, 42, 42, 42, 42, 42});
  const Tensor y = run(op, {x, Tensor(), Tensor(), ints({7, 7})})[0];
  ASSERT_EQ(y.extents(), (Extents{6, 7}));
  for (const int row : {0, 1, 2, 3, 4}) EXPECT_NEAR(y.as_double(row * 7), row * 10, kNear) << row;
}

TEST(Nn, CausalAttentionSeesOnlyThePast) {
  Attention op;
  op.causal = CausalMask::kUpperLeft;
  op.scale = 1;
  const Tensor zero = floats({1, 1, 2, 1}, {0, 0}), v = floats({1, 1, 2, 1}, {1, 3});
  expect_floats(run(op, {zero, zero, v})[0], {1, 2});
  const auto y =
      run(op, {zero, zero, v, Tensor(), floats({1, 1, 1, 1}, {0}), floats({1, 1, 1, 1}, {5})}, 3);
  expect_floats(y[0], {3, 3});
  expect_floats(y[2], {5, 1, 3});
}

TEST(Nn, LstmStepByHand) {
  Rnn op;
  op.hidden = 1;
  const Tensor x = floats({2, 1, 1}, {1, -1}), w = floats({1, 4, 1}, {1, 2, 3, 4});
  const Tensor r = floats({1, 4, 1}, {0.5f, 0.5f, 0.5f, 0.5f});
  float h = 0, c = 0;
  std::vector<float> expected;
  const auto s = [](float v) { return 1 / (1 + std::exp(-v)); };
  for (const float in : {1.0f, -1.0f}) {
    const float i = s(in + h / 2), o = s(2 * in + h / 2), f = s(3 * in + h / 2);
    c = f * c + i * std::tanh(4 * in + h / 2);
    h = o * std::tanh(c);
    expected.push_back(h);
  }
  const auto y = run(op, {x, w, r}, 3);
  expect_floats(y[0], expected);
  expect_floats(y[2], {c});
}

/// Sequences of one batch do not see each other's states.
TEST(Nn, RecurrencesTakeEachSequenceByItself) {
  for (const auto& [kind, gates] :
       {std::pair(RnnKind::kRnn, 1), std::pair(RnnKind::kGru, 3), std::pair(RnnKind::kLstm, 4)}) {
    Rnn op;
    op.cell = kind;
    op.hidden = 2;
    std::vector<float> numbers;
    for (int i = 0; i < gates * 2 * 2; ++i) numbers.push_back(static_cast<float>(i % 5 - 2) / 3);
    const Tensor r = floats({1, gates * 2, 2}, numbers);
    numbers.resize(gates * 2);
    const Tensor w = floats({1, gates * 2, 1}, numbers);
    const auto y = run(op, {floats({2, 2, 1}, {1, -2, 3, 0.5F}), w, r}, 2)[0];
    for (const int64_t b : {0, 1}) {
      const Tensor x = b == 0 ? floats({2, 1, 1}, {1, 3}) : floats({2, 1, 1}, {-2, 0.5F});
      const auto alone = run(op, {x, w, r}, 2)[0];
      for (const int64_t step : {0, 1})
        for (const int64_t i : {0, 1})
          EXPECT_NEAR(y.as_double(step * 4 + b * 2 + i), alone.as_double(step * 2 + i), kNear);
    }
  }
}

TEST(Nn, RecurrentActivationsByHand) {
  const auto at = [](const char* name, float x) {
    Rnn op;
    op.cell = RnnKind::kRnn;
    op.hidden = 1;
    op.activations = {name};
    op.activation_alpha = {0.5};
    op.activation_beta = {0.25};
    const Tensor one = floats({1, 1, 1}, {1}), none = floats({1, 1, 1}, {0});
    return run(op, {floats({1, 1, 1}, {x}), one, none}, 2)[0].as_double(0);
  };
  for (const float x : {-3.0F, -0.75F, 0.25F, 2.0F}) {
    EXPECT_NEAR(at("relu", x), std::max(x, 0.0F), kNear);
    EXPECT_NEAR(at("tanh", x), std::tanh(x), kNear);
    EXPECT_NEAR(at("sigmoid", x), 1 / (1 + std::exp(-x)), kNear);
    EXPECT_NEAR(at("affine", x), 0.5 * x + 0.25, kNear);
    EXPECT_NEAR(at("leakyrelu", x), x < 0 ? 0.5 * x : x, kNear);
    EXPECT_NEAR(at("thresholdedrelu", x), x > 0.5 ? x : 0, kNear);
    EXPECT_NEAR(at("scaledtanh", x), 0.5 * std::tanh(0.25 * x), kNear);
    EXPECT_NEAR(at("hardsigmoid", x), std::clamp(0.5 * x + 0.25, 0.0, 1.0), kNear);
    EXPECT_NEAR(at("elu", x), x < 0 ? 0.5 * (std::exp(x) - 1) : x, kNear);
    EXPECT_NEAR(at("softsign", x), x / (1 + std::abs(x)), kNear);
    EXPECT_NEAR(at("softplus", x), std::log(1 + std::exp(x)), kNear);
  }
}

TEST(Nn, RecurrentActivationsTakeTheirNumbersInOrder) {
  // Tanh has none: the numbers are those of the second direction.
  Rnn op;
  op.cell = RnnKind::kRnn;
  op.direction = RnnDirection::kBidirectional;
  op.hidden = 1;
  op.activations = {"tanh", "leakyrelu"};
  op.activation_alpha = {0.5};
  const Tensor ones = floats({2, 1, 1}, {1, 1}), none = floats({2, 1, 1}, {0, 0});
  const auto y = run(op, {floats({1, 1, 1}, {-2}), ones, none}, 2);
  expect_floats(y[0], {std::tanh(-2.0F), -1});
}

TEST(Nn, SuppressionKeepsTheBestOfOverlappingBoxes) {
  const Tensor boxes = floats({1, 3, 4}, {0, 0, 1, 1, 0, 0.1f, 1, 1.1f, 0, 10, 1, 11});
  const Tensor scores = floats({1, 1, 3}, {0.9f, 0.75f, 0.6f});
  const Tensor y = run(Nms(), {boxes, scores, ints({3}), floats({1}, {0.5f})})[0];
  EXPECT_EQ(y.to_int64s(), (std::vector<int64_t>{0, 0, 0, 0, 0, 2}));
}

TEST(Nn, BoxesOfNegativeSizeOverlapNothing) {
  Nms op;
  op.center_point_box = true;
  const Tensor boxes = floats({1, 2, 4}, {0, 0, 2, 2, 0, 0, 4, -4});
  const Tensor y =
      run(op, {boxes, floats({1, 1, 2}, {0.9f, 0.8f}), ints({2}), floats({1}, {0.5f})})[0];
  EXPECT_EQ(y.to_int64s(), (std::vector<int64_t>{0, 0, 0, 0, 0, 1}));
}

/// The share that two boxes of top, left, bottom and right have of both together.
float shared_part(const float* a, const float* b) {
  const float height = std::min(a[2], b[2]) - std::max(a[0], b[0]);
  const float width = std::min(a[3], b[3]) - std::max(a[1], b[1]);
  if (height <= 0 || width <= 0) return 0;
  const auto area = [](const float* x) { return (x[2] - x[0]) * (x[3] - x[1]); };
  return height * width / (area(a) + area(b) - height * width);
}

/// Few of many boxes are compared: of all sizes, some of them endless, or no numbers.
TEST(Nn, SuppressionOfManyBoxesMatchesItsDefinition) {
  constexpr int64_t kCount = 500;
  std::vector<float> boxes, scores;
  for (int64_t i = 0; i < kCount; ++i) {
    const auto top = static_cast<float>(i * 37 % 101), left = static_cast<float>(i * 61 % 997);
    const auto width = static_cast<float>(i % 50 == 0 ? 900 : 1 + i % 40);
    boxes.insert(boxes.end(), {top, left, top + static_cast<float>(9 + i % 7), left + width});
    scores.push_back(static_cast<float>(i * 71 % kCount));
  }
  boxes[4 * 7 + 3] = INFINITY;
  boxes[4 * 8 + 1] = -INFINITY;
  boxes[4 * 9 + 1] = NAN;
  std::vector<int64_t> order(kCount), kept, expected;
  for (int64_t i = 0; i < kCount; ++i) order[i] = i;
  std::ranges::stable_sort(order, [&](int64_t a, int64_t b) { return scores[a] > scores[b]; });
  for (const int64_t i : order)
    if (std::ranges::none_of(kept, [&](int64_t other) {
          return shared_part(&boxes[4 * i], &boxes[4 * other]) > 0.3f;
        }))
      kept.push_back(i), expected.insert(expected.end(), {0, 0, i});
  const Tensor y = run(Nms(), {floats({1, kCount, 4}, boxes), floats({1, 1, kCount}, scores),
                               ints({kCount}), floats({1}, {0.3f})})[0];
  EXPECT_EQ(y.to_int64s(), expected);
  EXPECT_LT(kept.size(), kCount * 9 / 10);
}

/// Places between a corner pixel and one outside: -1 and 1 are the centers of the corner pixels.
TEST(Nn, PlacesOutsideOfAlignedCorners) {
  GridSample op;
  op.align_corners = true;
  const Tensor x = floats({1, 1, 1, 3}, {1, 2, 4}),
               grid = floats({1, 1, 2, 2}, {-1.05f, 0, 1.05f, 0});
  const auto sample = [&](GridPadding padding) {
    op.padding = padding;
    return run(op, {x, grid})[0];
  };
  expect_floats(sample(GridPadding::kZeros), {0.95f, 3.8f});
  expect_floats(sample(GridPadding::kBorder), {1, 4});
  expect_floats(sample(GridPadding::kReflection), {1.05f, 3.9f});
  // Of a cubic each tap is moved to the border, as PyTorch and ONNX Runtime do it.
  op.mode = ResizeMode::kCubic;
  expect_floats(sample(GridPadding::kBorder), {0.96615625f, 4.0676875f});
  // Between the first two pixels, with the second one on both sides.
  const Tensor inside = floats({1, 1, 1, 2}, {-0.5f, 0});
  op.padding = GridPadding::kReflection;
  expect_floats(run(op, {x, inside})[0], {0.59375f * 3 - 0.09375f * 6});
}

/// Past the center of the last pixel there is nothing to mix it with.
TEST(Nn, RegionsAtTheLastPixels) {
  RoiPool op;
  op.sampling_ratio = 1;
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 30, 40});
  const Tensor y = run(op, {x, floats({1, 4}, {1.5f, 0, 2.5f, 1}), ints({0})})[0];
  expect_floats(y, {2});
}

TEST(Nn, TheLargestOfARegionIsOneOfIts) {
  RoiPool op;
  op.function = RoiFunction::kPoolMax;
  const Tensor x = floats({1, 1, 3, 3}, {9, 8, 7, 6, -2, -3, 5, -1, -4});
  expect_floats(run(op, {x, floats({1, 5}, {0, 1, 1, 2, 2})})[0], {-1});
}

/// Indices count in the extents that the window gives; each place must exist in those asked for.
TEST(Nn, UnpoolingIntoOtherExtents) {
  MaxUnpool op;
  op.kernel = op.strides = {2};
  const Tensor x = floats({1, 1, 2}, {5, 6});
  const Tensor places =
      Tensor::of<int64_t>(DataType::kInt64, {1, 1, 2}, std::vector<int64_t>{0, 3});
  expect_floats(run(op, {x, places, ints({1, 1, 5})})[0], {5, 0, 0, 6, 0});
  EXPECT_NE(error_of(op, {x, places, ints({1, 1, 3})}).find("index 3 is outside"),
            std::string::npos);
}

TEST(Generate, DftAlongAnAxisInTheMiddle) {
  const Tensor x = floats({2, 3, 2, 1}, {1, 5, -2, 3, 8, 0, 4, 4, 7, -6, 2, 9});
  const Tensor y = run(Dft(), {x, Tensor(), Tensor::scalar_i64(1)})[0];
  for (int64_t o = 0; o < 2; ++o)
    for (int64_t i = 0; i < 2; ++i) {
      Tensor line(DataType::kFloat32, {1, 3, 1});
      for (int64_t k = 0; k < 3; ++k) line.set_from_double(k, x.as_double((o * 3 + k) * 2 + i));
      const Tensor alone = run(Dft(), {line})[0];
      for (int64_t k = 0; k < 3; ++k)
        for (int64_t part = 0; part < 2; ++part)
          EXPECT_NEAR(y.as_double(((o * 3 + k) * 2 + i) * 2 + part), alone.as_double(2 * k + part),
                      kNear);
    }
}

/// Shares of a normal distribution, of numbers that do not depend on each other.
TEST(Generate, NormalNumbersAreDistributedSo) {
  Random op;
  op.distribution = Distribution::kNormal;
  op.a = 3, op.b = 2;
  const Tensor y = run(op, {ints({40000})})[0];
  double sum = 0, within[2] = {}, products = 0;
  const auto number = [&](int64_t i) { return (y.as_double(i) - 3) / 2; };
  for (int64_t i = 0; i < y.count(); ++i) {
    sum += number(i);
    products += number(i) * number((i + 1) % y.count());
    for (const int sigma : {1, 2}) within[sigma - 1] += std::abs(number(i)) < sigma ? 1 : 0;
  }
  const auto count = static_cast<double>(y.count());
  EXPECT_NEAR(sum / count, 0, 0.02);
  EXPECT_NEAR(products / count, 0, 0.02);
  EXPECT_NEAR(within[0] / count, std::erf(1 / std::sqrt(2.0)), 0.01);
  EXPECT_NEAR(within[1] / count, std::erf(2 / std::sqrt(2.0)), 0.01);
}

/// By its definition, of complex numbers [1, n, 2].
Tensor direct_dft(const Tensor& x) {
  const int64_t n = x.extents()[1];
  Tensor y(x.type(), x.extents());
  const auto sums = y.mutable_values<double>();
  for (int64_t m = 0; m < n; ++m) {
    std::complex<double> sum;
    for (int64_t k = 0; k < n; ++k) {
      const double turn = static_cast<double>(k * m % n) / static_cast<double>(n);
      sum += std::complex<double>(x.as_double(2 * k), x.as_double(2 * k + 1)) *
             std::polar(1.0, -2 * std::numbers::pi * turn);
    }
    sums[2 * m] = sum.real();
    sums[2 * m + 1] = sum.imag();
  }
  return y;
}

TEST(Generate, DftIsTheSumThatItStandsFor) {
  for (const int64_t n : {1, 2, 3, 4, 6, 7, 12, 15, 16, 49, 60, 64, 97, 400}) {
    Tensor x(DataType::kFloat64, {1, n, 2});
    int64_t place = 0;
    for (double& value : x.mutable_values<double>()) value = static_cast<double>(place++ * 7 % 17);
    const Deviation difference =
        compare_tensors(run(Dft(), {x})[0], direct_dft(x), nullptr,
                        tolerance(Computation::kKernel, DataType::kFloat64));
    EXPECT_TRUE(difference.agrees()) << n << ": " << difference.describe();
  }
}

TEST(Generate, DftOfAnyLengthAndItsInverse) {
  for (const int64_t n : {4, 6}) {
    const Tensor x = ramp({1, n, 1}, 1);
    const Tensor spectrum = run(Dft(), {x})[0];
    EXPECT_NEAR(spectrum.as_double(0), static_cast<double>(n * (n + 1)) / 2, kNear);
    Dft back;
    back.inverse = true;
    const Tensor y = run(back, {spectrum})[0];
    for (int64_t i = 0; i < n; ++i) {
      EXPECT_NEAR(y.as_double(2 * i), x.as_double(i), kNear);
      EXPECT_NEAR(y.as_double(2 * i + 1), 0, kNear);
    }
  }
}

}  // namespace
}  // namespace tenon::test
