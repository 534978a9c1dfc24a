// One small problem for each source of the kernel families, in one configuration: for tools under
// which a kernel takes its time, such as compute-sanitizer.
#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

constexpr DataType kHalf = DataType::kFloat16, kFloat = DataType::kFloat32,
                   kLong = DataType::kInt64;
constexpr Layout kLast = Layout::kChannelsLast;

CaseInput reals(Extents extents, int seed, DataType type = kHalf,
                Layout layout = Layout::kRowMajor) {
  return input(random_reals(type, std::move(extents), seed), layout);
}
CaseInput weights(Extents extents, int seed, DataType type = kHalf) {
  return constant(random_reals(type, std::move(extents), seed, -0.3, 0.3));
}
CaseInput indices(Extents extents, int64_t extent) {
  return input(random_integers(kLong, std::move(extents), 3, -extent, extent - 1));
}
void add_convolutions(Cases& cases) {
  const auto add_conv = [&](const char* name, int64_t groups, int64_t in, int64_t out, int64_t size,
                            int64_t kernel, int64_t stride, DataType type = kHalf) -> KernelCase& {
    Conv op;
    op.groups = groups;
    op.strides = {stride, stride};
    op.pads_begin = op.pads_end = {kernel / 2, kernel / 2};
    return add(cases, name, op,
               std::vector{reals({1, in, size, size}, 1, type, kLast),
                           weights({out, in / groups, kernel, kernel}, 2, type),
                           weights({out}, 3, type)})
        .output_layout(kLast)
        .then(PointwiseFunction::k_relu);
  };
  add_conv("tiny depthwise one row", 24, 24, 24, 9, 3, 1).only("cuda.conv.depthwise");
  add_conv("tiny depthwise rows", 64, 64, 64, 62, 3, 1).only("cuda.conv.depthwise", "rows=");
  add_conv("tiny conv hopper", 1, 40, 24, 7, 3, 1).only("cuda.conv.hopper");
  add_conv("tiny conv groups of warps", 1, 64, 64, 9, 3, 1).only("cuda.conv.matrix", "groups=1");
  add_conv("tiny conv single warps", 1, 16, 24, 9, 3, 2).only("cuda.conv.matrix", "groups=0");
  add_conv("tiny conv splits", 1, 16, 8, 7, 5, 1).only("cuda.conv.matrix", "splits=2");
  add_conv("tiny conv groups together", 8, 64, 64, 9, 3, 1).only("cuda.conv.matrix", "bundle=");
  add_conv("tiny stem", 1, 3, 16, 19, 3, 2).only("cuda.conv.stem");
  add_conv("tiny stem odd stride", 1, 3, 16, 19, 3, 1).only("cuda.conv.stem");
  add_conv("tiny conv f32", 1, 12, 20, 9, 3, 1, kFloat).only("cuda.conv.simt", "splits=1");
  add_conv("tiny conv f32 splits", 1, 64, 20, 5, 3, 2, kFloat).only("cuda.conv.simt", "splits=8");
  add_conv("tiny conv direct", 3, 6, 9, 5, 3, 2).only("cuda.conv.direct");
  Pool op;
  op.kernel = {3, 3};
  op.strides = {2, 2};
  op.pads_begin = op.pads_end = {1, 1};
  add(cases, "tiny pool", op, std::vector{reals({1, 16, 7, 5}, 1, kHalf, kLast)})
      .output_layout(kLast)
      .only("cuda.pool.direct");
  Resize resize;
  resize.mode = ResizeMode::kLinear;
  add(cases, "tiny resize", resize,
      std::vector{reals({1, 8, 5, 4}, 1, kHalf, kLast), absent(), absent(), list({1, 8, 10, 7})})
      .output_layout(kLast)
      .only("cuda.resize.taps");
}

void add_products(Cases& cases) {
  const auto add_product = [&](const char* name, Extents a, Extents b,
                               bool transposed) -> KernelCase& {
    MatMul op;
    op.transpose_b = transposed;
    return add(cases, name, op, std::vector{reals(std::move(a), 1), weights(std::move(b), 2)});
  };
  add_product("tiny gemm hopper", {70, 72}, {72, 88}, false).only("cuda.gemm.hopper");
  add_product("tiny gemm matrix", {70, 72}, {72, 88}, false).only("cuda.gemm.matrix");
  add_product("tiny gemm matrix along the depth", {3, 70, 40}, {70, 40}, true)
      .only("cuda.gemm.matrix");
  add_product("tiny gemm columns", {2, 64}, {33, 64}, true).only("cuda.gemm.skinny_columns");
  add_product("tiny gemm rows", {1, 512}, {512, 64}, false).only("cuda.gemm.skinny_rows");
  add_product("tiny gemm tile", {17, 20}, {20, 19}, false).only("cuda.gemm.tile");
  const auto add_attention = [&](const char* name, int64_t size, int64_t heads = 2,
                                 int64_t queries = 20, int64_t keys = 33) -> KernelCase& {
    return add(cases, name, Attention(),
               std::vector{reals({1, heads, queries, size}, 1), reals({1, heads, keys, size}, 2),
                           reals({1, heads, keys, size}, 3)})
        .roundings(3);
  };
  add_attention("tiny attention hopper", 64).only("cuda.attention.hopper");
  add_attention("tiny attention whole", 64, 2, 70, 33).only("cuda.attention.hopper", "whole=");
  add_attention("tiny attention ahead", 64, 2, 200, 97).only("cuda.attention.hopper", "ahead=");
  add_attention("tiny attention in turns", 40, 2, 193, 130).only("cuda.attention.hopper", "turns=");
  add_attention("tiny attention that stays", 8, 140, 193, 65)
      .only("cuda.attention.hopper", "stays=");
  add_attention("tiny attention flash", 64).only("cuda.attention.flash");
  add_attention("tiny attention rows", 17).only("cuda.attention.rows");
}

void add_rows(Cases& cases) {
  const auto add_softmax = [&](const char* name, int64_t axis) -> KernelCase& {
    Softmax op;
    op.axes = {axis};
    return add(cases, name, op, std::vector{reals({3, 16, 40}, 1)});
  };
  add_softmax("tiny softmax columns", 1).only("cuda.softmax.columns");
  add_softmax("tiny softmax rows", 2).only("cuda.softmax.rows");
  Normalization layer;
  add(cases, "tiny layer norm", layer,
      std::vector{reals({5, 72}, 1), weights({72}, 2), weights({72}, 3)})
      .only("cuda.normalization.rows");
  Normalization group;
  group.norm = NormKind::kGroup;
  group.groups = 4;
  add(cases, "tiny group norm", group,
      std::vector{reals({2, 16, 5, 3}, 1, kHalf, kLast), weights({16}, 2), weights({16}, 3)})
      .output_layout(kLast)
      .only("cuda.normalization.image");
  add(cases, "tiny norm of a sum", Pointwise(PointwiseFunction::k_add),
      std::vector{reals({3, 40}, 1), reals({3, 40}, 2)})
      .then_op(layer, {weights({40}, 3), weights({40}, 4)})
      .roundings(3)
      .only("cuda.normalization.sum");
  const auto add_mean = [&](const char* name, Extents extents, int64_t axis) -> KernelCase& {
    Reduce op;
    op.function = ReduceFunction::kMean;
    op.axes = {axis};
    // Around a half: the mean of many numbers around zero is one that zeros would do for.
    return add(cases, name, op,
               std::vector{input(random_reals(kHalf, std::move(extents), 1, 0, 1))})
        .roundings(2)
        .only("cuda.reduce");
  };
  add_mean("tiny mean of rows", {5, 70}, 1);
  add_mean("tiny mean of columns", {2, 30, 40}, 1);
  add_mean("tiny mean in parts", {70000}, 0);
  Cumulative sum;
  add(cases, "tiny running sum", sum,
      std::vector{reals({3, 40}, 1, kFloat), constant(Tensor::scalar_i64(1))})
      .only("cuda.cumulative");
  TopK top;
  const auto values = reals({3, 100}, 1, kFloat);
  add(cases, "tiny topk", top, std::vector{values, list({7})}, 2).only("cuda.topk");
  add(cases, "tiny sort", top, std::vector{values, list({90})}, 2).only("cuda.sort.formula");
}

void add_movement(Cases& cases) {
  Transpose transposed;
  transposed.permutation = {1, 0};
  add(cases, "tiny transpose", transposed, std::vector{reals({70, 40}, 1)})
      .only("cuda.copy.transpose");
  Slice slice;
  add(cases, "tiny slice", slice,
      std::vector{reals({5, 20}, 1), list({1}), list({19}), list({1}), list({2})})
      .only("cuda.copy.strided");
  Gather gather;
  add(cases, "tiny gather", gather, std::vector{reals({20, 16}, 1), indices({7}, 20)})
      .only("cuda.pick");
  add(cases, "tiny group of gathers", gather, std::vector{weights({20, 16}, 1), indices({7}, 20)})
      .beside_op(gather, {weights({9, 16}, 2), indices({7}, 9)})
      .only("cuda.pick.many");
  ScatterNd scatter;
  scatter.reduction = ScatterReduction::kAdd;
  add(cases, "tiny scatter", scatter,
      std::vector{reals({4, 33}, 1, kFloat), indices({5, 1}, 4), reals({5, 33}, 2, kFloat)})
      .only("cuda.scatter");
  add(cases, "tiny scatter by place", scatter,
      std::vector{reals({4, 33}, 1, kFloat), indices({40, 1}, 4), reals({40, 33}, 2, kFloat)})
      .only("cuda.scatter");
  add(cases, "tiny scatter of the last", ScatterNd(),
      std::vector{reals({4, 33}, 1, kFloat), indices({15, 1}, 4), reals({15, 33}, 2, kFloat)})
      .only("cuda.scatter");
  OneHot hot;
  add(cases, "tiny one hot", hot,
      std::vector{indices({4, 5}, 7), constant(Tensor::scalar_i64(7)), reals({2}, 2)})
      .only("cuda.elements");
  add(cases, "tiny pointwise", Pointwise(PointwiseFunction::k_mul),
      std::vector{reals({3, 40}, 1), reals({40}, 2)})
      .then(PointwiseFunction::k_gelu_erf)
      .only("cuda.pointwise");
  GatedUnit gated;
  gated.alpha = 1;
  add(cases, "tiny gated unit", gated, std::vector{reals({3, 48}, 1)}).only("cuda.gated_unit");
}

void add_recurrences(Cases& cases) {
  const auto add_rnn = [&](const char* name, RnnKind kind, DataType type,
                           bool before) -> KernelCase& {
    Rnn op;
    op.cell = kind;
    op.hidden = 32;
    op.linear_before_reset = !before;
    const int64_t rows = 32 * (kind == RnnKind::kLstm ? 4 : 3);
    return add(cases, name, op,
               std::vector{input(random_reals(type, {3, 2, 16}, 1, -0.3, 0.3)),
                           weights({1, rows, 16}, 2, type), weights({1, rows, 32}, 3, type)})
        .roundings(5);
  };
  add_rnn("tiny rnn matrix", RnnKind::kLstm, kHalf, false).only("cuda.rnn.matrix", "cluster=4");
  add_rnn("tiny rnn cluster", RnnKind::kLstm, kFloat, false).only("cuda.rnn.cluster");
  add_rnn("tiny rnn tiles", RnnKind::kGru, kHalf, false).only("cuda.rnn.tiles");
  add_rnn("tiny rnn steps", RnnKind::kLstm, kFloat, false).only("cuda.rnn.steps");
  add_rnn("tiny rnn reset", RnnKind::kGru, kFloat, true).only("cuda.rnn.reset");
}

/// Steps of generic operators that are no formula of one element.
void add_generic(Cases& cases) {
  BitCast bits;
  bits.to = DataType::kInt32;
  add(cases, "tiny bits", bits, std::vector{reals({3, 40}, 1, kFloat)}).only("cuda.bits");
  add(cases, "tiny det", Det(), std::vector{reals({2, 5, 5}, 1, kFloat)})
      .tolerance(1e-3)
      .only("cuda.det");
  add(cases, "tiny dft", Dft(), std::vector{reals({2, 24, 1}, 1, kFloat)})
      .roundings(5)
      .only("cuda.fft");
  MaxUnpool unpool;
  unpool.kernel = unpool.strides = {2, 2};
  Tensor places(kLong, {1, 1, 2, 3});
  for (int64_t i = 0; i < 6; ++i) places.set_from_int64(i, i * 4);
  add(cases, "tiny unpool", unpool, std::vector{reals({1, 1, 2, 3}, 1, kFloat), input(places)})
      .only("cuda.unpool");
  add(cases, "tiny dynamic quantize", DynamicQuantize(), std::vector{reals({7, 30}, 1, kFloat)}, 3)
      .tolerance(1e-5)
      .only("cuda.dynamic_quantize");
  Attention attention;
  attention.scores = ScoresOutput::kSoftmax;
  add(cases, "tiny attention with a past", attention,
      std::vector{reals({1, 2, 3, 8}, 1, kFloat), reals({1, 2, 4, 8}, 2, kFloat),
                  reals({1, 2, 4, 8}, 3, kFloat), absent(), reals({1, 2, 2, 8}, 5, kFloat),
                  reals({1, 2, 2, 8}, 6, kFloat)},
      4)
      .roundings(5)
      .only("cuda.attention.formula");
}

/// Of the cases of generic operators one for each source.
void add_formulas(Cases& cases) {
  std::vector<std::string_view> wanted = {"lrn",
                                          "hardmax",
                                          "grid_sample 5",
                                          "affine_grid volume",
                                          "roi_pool",
                                          "deform_conv",
                                          "rotary",
                                          "einsum ij->",
                                          "col2im",
                                          "matmul of integers",
                                          "random normal",
                                          "tensor_scatter",
                                          "bernoulli",
                                          "multinomial",
                                          "window",
                                          "mel_weights",
                                          "dft",
                                          "stft",
                                          "tfidf",
                                          "batch_norm",
                                          "cast to i4",
                                          "quantize i4",
                                          "dequantize i4",
                                          "reduce of any kind",
                                          "cumulative of a computed axis",
                                          "trilu of a computed diagonal"};
  for (auto& one : generic_cases())
    if (std::erase(wanted, one->name) > 0) {
      one->name = "tiny formula " + one->name;
      one->only("cuda.any.formula");
      cases.push_back(std::move(one));
    }
}

/// Of other families' cases: regions of bytes, rows and pixels by TMA, images, any; weights of few
/// bits, or of which two of four are 0.
void add_quantized(Cases& cases) {
  const std::pair<std::string_view, std::string_view> wanted[] = {
      {"ampere quantize linear f16 i8", "cuda.quantize.linear"},
      {"ampere quantized rows i8 768", "cuda.normalization.bytes"},
      {"ampere quantized product 1", "cuda.quantized.hopper"},
      {"ampere quantized conv 11", "cuda.quantized.hopper"},
      {"hopper quantized floats 1", "cuda.quantized.hopper"},
      {"hopper quantized conv of a patch 4", "cuda.quantized.patch"},
      {"ampere quantized conv of an image 10", "cuda.quantized.stem"},
      {"hopper quantized conv of a pooled image 5", "cuda.quantized.pooled_stem"},
      {"ampere quantized conv of few channels 21", "cuda.quantized.short"},
      {"ampere quantized conv 24", "cuda.quantized.matrix"},
      {"ampere weights 5", "cuda.quantized.weights"},
      {"hopper sparse f16 901", "cuda.gemm.sparse_hopper"},
      {"hopper sparse conv f16 951", "cuda.conv.sparse_hopper"}};
  for (auto make : {quantized_cases, weight_cases, product_cases})
    for (auto& one : make())
      for (const auto& [name, tactic] : wanted)
        if (one != nullptr && one->name == name) {
          one->name = fmt::format("tiny {}", name);
          one->only(tactic);
          cases.push_back(std::move(one));
        }
}

}  // namespace

Cases tiny_cases() {
  Cases cases;
  add_convolutions(cases);
  add_products(cases);
  add_quantized(cases);
  add_rows(cases);
  add_movement(cases);
  add_recurrences(cases);
  add_generic(cases);
  add_formulas(cases);
  return cases;
}

}  // namespace tenon::test
