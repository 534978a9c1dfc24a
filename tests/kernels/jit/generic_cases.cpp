// Operators that are computed element by element, and those of a few steps.
#include "kernels/jit/kernel_case.h"
#include "ops/generate.h"

namespace tenon::test {
namespace {

constexpr DataType kHalf = DataType::kFloat16, kFloat = DataType::kFloat32,
                   kDouble = DataType::kFloat64, kLong = DataType::kInt64;

CaseInput number(int64_t value) {
  Tensor tensor(kLong, {});
  tensor.set_from_int64(0, value);
  return constant(tensor);
}
CaseInput reals(Extents extents, int seed, DataType type = kFloat,
                Layout layout = Layout::kRowMajor) {
  return input(random_reals(type, std::move(extents), seed), layout);
}
CaseInput integers(Extents extents, int seed, int64_t low, int64_t high) {
  return input(random_integers(kLong, std::move(extents), seed, low, high));
}

void add_samples(Cases& cases) {
  int seed = 0;
  for (const ResizeMode mode : {ResizeMode::kNearest, ResizeMode::kLinear, ResizeMode::kCubic})
    for (const GridPadding padding :
         {GridPadding::kZeros, GridPadding::kBorder, GridPadding::kReflection}) {
      GridSample op;
      op.mode = mode;
      op.padding = padding;
      op.align_corners = ++seed % 2 == 0;
      const Layout layout = seed % 3 == 0 ? Layout::kChannelsLast : Layout::kRowMajor;
      add(cases, fmt::format("grid_sample {}", seed), op,
          std::vector{reals({2, 3, 5, 7}, seed, seed % 2 ? kHalf : kFloat, layout),
                      input(random_reals(kFloat, {2, 4, 6, 2}, seed + 50, -1.4, 1.4))});
    }
  add(cases, "grid_sample volume", GridSample(),
      std::vector{reals({1, 2, 4, 5, 3}, 1), reals({1, 2, 3, 4, 3}, 2)});
  for (const bool corners : {false, true}) {
    AffineGrid affine;
    affine.align_corners = corners;
    add(cases, "affine_grid", affine, std::vector{reals({2, 2, 3}, 1), list({2, 3, 5, 6})});
    add(cases, "affine_grid volume", affine,
        std::vector{reals({1, 3, 4}, 1, kDouble), list({1, 3, 2, 5, 6})});
  }
  for (const RoiFunction function :
       {RoiFunction::kAlignAverage, RoiFunction::kAlignMax, RoiFunction::kPoolMax}) {
    RoiPool op;
    op.function = function;
    op.height = 3;
    op.width = 2;
    op.spatial_scale = 0.5;
    op.sampling_ratio = function == RoiFunction::kAlignMax ? 2 : 0;
    op.half_pixel = function != RoiFunction::kPoolMax;
    const bool whole = function == RoiFunction::kPoolMax;
    Tensor rois = random_reals(kFloat, {4, whole ? 5 : 4}, 3, 0, 9);
    for (int64_t i = 0; i < 4 && whole; ++i)
      rois.set_from_double(i * 5, static_cast<double>(i % 2));
    std::vector<CaseInput> inputs{reals({2, 3, 8, 9}, 4), input(rois)};
    if (!whole) inputs.push_back(integers({4}, 1, 0, 1));
    add(cases, "roi_pool", op, inputs);
  }
}

void add_convolutions(Cases& cases) {
  DeformConv op;
  op.strides = {2, 1};
  op.pads_begin = op.pads_end = {1, 1};
  op.offset_groups = 2;
  op.groups = 2;
  add(cases, "deform_conv", op,
      std::vector{reals({2, 4, 7, 6}, 1), reals({6, 2, 3, 3}, 2), reals({2, 36, 4, 6}, 3),
                  reals({6}, 4), reals({2, 18, 4, 6}, 5)})
      .roundings(5);
  Col2Im blocks;
  blocks.strides = {2, 1};
  blocks.pads_begin = {1, 0};
  blocks.pads_end = {0, 1};
  add(cases, "col2im", blocks, std::vector{reals({2, 18, 24}, 1), list({7, 7}), list({2, 3})});
  MaxUnpool unpool;
  unpool.kernel = unpool.strides = {2, 2};
  Tensor places(kLong, {1, 2, 2, 3});
  for (int64_t i = 0; i < 12; ++i) places.set_from_int64(i, i * 4);
  add(cases, "max_unpool", unpool, std::vector{reals({1, 2, 2, 3}, 1), input(places)});
  // Windows that overlap find a value more than once; here any value may come from anywhere.
  add(cases, "max_unpool of meeting values", unpool,
      std::vector{reals({2, 3, 32, 32}, 1), integers({2, 3, 32, 32}, 2, 0, 999)});
  GatedUnit gated;
  for (const PointwiseFunction function : {PointwiseFunction::k_swish, PointwiseFunction::k_elu}) {
    gated.function = function, gated.alpha = 0.7;
    add(cases, "gated_unit", gated, std::vector{reals({3, 5, 34}, 1, kHalf)}).roundings(2, kHalf);
    add(cases, "gated_unit of floats", gated, std::vector{reals({7, 2}, 2)});
  }
  Lrn lrn;
  lrn.size = 4;
  lrn.alpha = 0.2;
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast})
    add(cases, "lrn", lrn, std::vector{reals({2, 9, 4, 5}, 1, kHalf, layout)})
        .output_layout(layout);
}

void add_sums(Cases& cases) {
  const auto add_einsum = [&](const char* equation, std::vector<CaseInput> inputs) {
    Einsum op;
    op.equation = equation;
    add(cases, fmt::format("einsum {}", equation), op, std::move(inputs)).roundings(5);
  };
  add_einsum("bij,bjk->bik", {reals({2, 5, 7}, 1), reals({2, 7, 3}, 2)});
  add_einsum("ii->i", {reals({6, 6}, 1)});
  add_einsum("ij->", {reals({6, 5}, 1, kHalf)});
  add_einsum("...ab,...bc,cd->...ad", {reals({2, 3, 4}, 1), reals({1, 4, 5}, 2), reals({5, 6}, 3)});
  add_einsum("ij,ij->j", {integers({4, 5}, 1, -9, 9), integers({4, 5}, 2, -9, 9)});
  Tensor left = random_integers(DataType::kInt32, {2, 4, 5}, 1, -90, 90);
  Tensor right = random_integers(DataType::kInt32, {5, 3}, 2, -90, 90);
  add(cases, "matmul of integers", MatMul(), std::vector{input(left), input(right)});
  MatMul transposed;
  transposed.transpose_a = transposed.transpose_b = true;
  add(cases, "matmul of doubles", transposed,
      std::vector{reals({5, 4}, 1, kDouble), reals({3, 5}, 2, kDouble)});
  for (const int64_t size : {1, 3, 17})
    add(cases, "det", Det(), std::vector{reals({3, size, size}, static_cast<int>(size))})
        .tolerance(1e-3);
  Hardmax hardmax;
  hardmax.axis = 1;
  add(cases, "hardmax", hardmax, std::vector{input(random_reals(kFloat, {3, 20, 4}, 1))});
  add(cases, "dynamic_quantize", DynamicQuantize(), std::vector{reals({7, 300}, 1)}, 3)
      .tolerance(1e-5);
}

void add_caches(Cases& cases) {
  for (const bool interleaved : {false, true}) {
    RotaryEmbedding op;
    op.interleaved = interleaved;
    add(cases, "rotary", op,
        std::vector{reals({2, 3, 5, 20}, 1), reals({2, 5, 10}, 2), reals({2, 5, 10}, 3)});
    op.heads = 3;
    op.rotary_dim = 8;
    add(cases, "rotary of positions", op,
        std::vector{reals({2, 5, 60}, 1, kHalf), reals({9, 4}, 2, kHalf), reals({9, 4}, 3, kHalf),
                    integers({2, 5}, 4, -9, 8)});
    TensorScatter scatter;
    scatter.axis = -2;
    scatter.circular = interleaved;
    add(cases, "tensor_scatter", scatter,
        std::vector{reals({2, 3, 6, 4}, 1), reals({2, 3, 2, 4}, 2),
                    integers({2}, 3, 0, interleaved ? 9 : 4)});
  }
}

void add_signals(Cases& cases) {
  for (const bool inverse : {false, true})
    for (const bool onesided : {false, true}) {
      Dft op;
      op.inverse = inverse;
      op.onesided = onesided;
      const int64_t parts = onesided && !inverse ? 1 : 2;
      add(cases, "dft", op, std::vector{reals({2, 11, 3, parts}, 1), absent(), number(1)})
          .roundings(5);
      add(cases, "dft of a length", op, std::vector{reals({2, 9, parts}, 1), number(12), number(1)})
          .roundings(5);
    }
  // Lengths with factors 4, 2, 3, 5, 7, one that is a prime, and of several lines a block along
  // either order of memory.
  for (const int64_t length : {1, 2, 30, 64, 97, 112, 512, 768})
    for (const int64_t axis : {1, 2}) {
      Extents extents{2, 5, 3, length % 2 + 1};
      extents[static_cast<size_t>(axis)] = length;
      Dft op;
      op.inverse = length > 100;
      add(cases, fmt::format("dft of {} along {}", length, axis), op,
          std::vector{reals(extents, 1), absent(), number(axis)})
          .roundings(5);
    }
  for (const DataType half : {kHalf, DataType::kBFloat16})
    for (const bool all_parts : {false, true}) {
      auto& of_real =
          add(cases, "dft of 16 bits", Cast(kFloat), std::vector{reals({2, 64, 3, 1}, 1, half)});
      of_real.into_op(Dft(), {absent(), number(1)}).then_cast(half).roundings(5);
      if (!all_parts) of_real.into_op(Slice(), {list({0}), list({1}), list({-1})});
    }
  add(cases, "real parts of a dft", Dft(),
      std::vector{reals({2, 5, 30, 2}, 1), absent(), number(2)})
      .into_op(Slice(), {list({0}), list({1}), list({3})})
      .roundings(5);
  Stft stft;
  add(cases, "stft", stft, std::vector{reals({2, 40, 1}, 1), number(6), reals({16}, 2), absent()})
      .roundings(5);
  for (const WindowKind kind : {WindowKind::kHann, WindowKind::kHamming, WindowKind::kBlackman}) {
    Window window;
    window.window = kind;
    window.periodic = kind != WindowKind::kHann;
    add(cases, "window", window, std::vector{number(19)});
  }
  add(cases, "mel_weights", MelWeights(),
      std::vector{number(5), number(32), number(8000), constant(random_reals(kFloat, {}, 1, 0, 20)),
                  constant(random_reals(kFloat, {}, 2, 2000, 3000))})
      .roundings(5);
  Random uniform;
  uniform.a = -2;
  uniform.seed = 7;
  add(cases, "random", uniform, std::vector{list({3, 50})});
  uniform.distribution = Distribution::kNormal;
  uniform.to = kHalf;
  add(cases, "random normal", uniform, std::vector{list({3, 50})});
  add(cases, "bernoulli", Bernoulli(), std::vector{input(random_reals(kFloat, {70}, 1, 0, 1))});
  Multinomial multinomial;
  multinomial.samples = 9;
  add(cases, "multinomial", multinomial, std::vector{reals({4, 6}, 1)});
  TfIdf tfidf;
  tfidf.max_length = 2;
  tfidf.max_skips = 1;
  tfidf.counts = {0, 3};
  tfidf.pool = {1, 2, 3, 1, 2, 3, 3};
  tfidf.indexes = {0, 2, 1, 3, 4};
  tfidf.weights = {1, 2, 3, 4, 5};
  tfidf.mode = TfIdfMode::kTfIdf;
  add(cases, "tfidf", tfidf, std::vector{integers({3, 12}, 1, 1, 3)});
}

void add_types(Cases& cases) {
  for (const DataType type :
       {DataType::kFloat8E4M3, DataType::kFloat8E4M3Fnuz, DataType::kFloat8E5M2,
        DataType::kFloat8E5M2Fnuz, DataType::kFloat8E8M0, DataType::kFloat4E2M1, DataType::kInt4,
        DataType::kUInt4, DataType::kInt2, DataType::kUInt2}) {
    const Tensor reals = random_reals(kFloat, {5, 70}, 1, -600, 600);
    Tensor narrow(type, {5, 70});
    for (int64_t i = 0; i < narrow.count(); ++i)
      narrow.set_from_double(i, static_cast<double>(i % 13 - 6) / 2);
    for (const bool saturate : {true, false}) {
      Cast to(type);
      to.saturate = saturate;
      add(cases, fmt::format("cast to {}", name_of(type)), to, std::vector{input(reals)});
    }
    add(cases, fmt::format("cast from {}", name_of(type)), Cast(kHalf), std::vector{input(narrow)});
    Dequantize back;
    back.axis = 1;
    add(cases, fmt::format("dequantize {}", name_of(type)), back,
        std::vector{input(narrow), input(random_reals(kFloat, {70}, 3, 0.1, 1))});
    if (type == DataType::kFloat8E8M0) continue;
    Quantize forth;
    forth.axis = 0;
    forth.to = type;
    add(cases, fmt::format("quantize {}", name_of(type)), forth,
        std::vector{input(reals), input(random_reals(kFloat, {5}, 4, 10, 100))});
  }
  BitCast bits;
  bits.to = DataType::kInt32;
  add(cases, "bit_cast", bits, std::vector{reals({3, 40}, 1)});
}

/// Operands that most models know while they are built.
void add_computed(Cases& cases) {
  Tensor axis(kLong, {1});
  axis.set_from_int64(0, -2);
  Cumulative sum;
  sum.exclusive = true;
  add(cases, "cumulative of a computed axis", sum, std::vector{reals({3, 7, 5}, 1), input(axis)});
  Trilu triangle;
  triangle.upper = false;
  add(cases, "trilu of a computed diagonal", triangle,
      std::vector{reals({2, 6, 5}, 1), input(axis)});
  std::vector<CaseInput> channels{reals({2, 6, 4, 3}, 1)};
  for (int i = 0; i < 4; ++i) channels.push_back(input(random_reals(kFloat, {6}, i, 0.5, 2)));
  add(cases, "batch_norm", BatchNorm(), channels);
  for (const ReduceFunction function :
       {ReduceFunction::kProd, ReduceFunction::kMax, ReduceFunction::kMin, ReduceFunction::kMean,
        ReduceFunction::kL1, ReduceFunction::kL2, ReduceFunction::kLogSum,
        ReduceFunction::kLogSumExp, ReduceFunction::kSumSquare}) {
    Reduce op;
    op.function = function;
    op.axes = {1, -1};
    op.keep_dims = function != ReduceFunction::kMax;
    add(cases, "reduce of any kind", op,
        std::vector{input(random_reals(kDouble, {3, 4, 5, 2}, 1, 0.5, 1))});
  }
}

void add_recurrences(Cases& cases) {
  for (const RnnDirection direction : {RnnDirection::kForward, RnnDirection::kBidirectional}) {
    const int64_t d = direction == RnnDirection::kBidirectional ? 2 : 1;
    Rnn op;
    op.cell = RnnKind::kGru;
    op.direction = direction;
    op.hidden = 21;
    add(cases, "gru whose reset comes first", op,
        std::vector{reals({6, 3, 10}, 1), constant(random_reals(kFloat, {d, 63, 10}, 2, -0.5, 0.5)),
                    constant(random_reals(kFloat, {d, 63, 21}, 3, -0.5, 0.5)),
                    constant(random_reals(kFloat, {d, 126}, 4)), absent(), reals({d, 3, 21}, 5)},
        2)
        .roundings(5);
  }
}

void add_attention(Cases& cases) {
  for (const ScoresOutput shown : {ScoresOutput::kScaled, ScoresOutput::kMasked,
                                   ScoresOutput::kCapped, ScoresOutput::kSoftmax}) {
    Attention op;
    op.scores = shown;
    op.causal = shown == ScoresOutput::kCapped ? CausalMask::kUpperLeft : CausalMask::kNone;
    op.softcap = shown == ScoresOutput::kMasked ? 0 : 2;
    add(cases, "attention with a past", op,
        std::vector{reals({2, 4, 5, 8}, 1), reals({2, 2, 6, 8}, 2), reals({2, 2, 6, 10}, 3),
                    reals({2, 1, 5, 9}, 4), reals({2, 2, 3, 8}, 5), reals({2, 2, 3, 10}, 6)},
        4)
        .roundings(5);
  }
  Attention rows;
  rows.q_heads = 4;
  rows.kv_heads = 2;
  add(cases, "attention of doubles", rows,
      std::vector{reals({2, 5, 32}, 1, kDouble), reals({2, 6, 16}, 2, kDouble),
                  reals({2, 6, 16}, 3, kDouble)})
      .roundings(1, DataType::kFloat32);
}

}  // namespace

Cases generic_cases() {
  Cases cases;
  add_samples(cases);
  add_convolutions(cases);
  add_sums(cases);
  add_caches(cases);
  add_signals(cases);
  add_types(cases);
  add_computed(cases);
  add_recurrences(cases);
  add_attention(cases);
  return cases;
}

}  // namespace tenon::test
