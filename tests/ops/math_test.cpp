#include <cmath>
#include <random>

#include "evaluate_helper.h"
#include "ops/numerics.h"
#include "ops/ops.h"

namespace tenon {
namespace {

using enum DataType;
using Doubles = std::vector<double>;

const double kRounded = tolerance(Computation::kReference, kFloat32).relative;

Doubles apply(const std::string& op, DataType type, std::vector<Doubles> operands) {
  std::vector<Tensor> inputs;
  for (const Doubles& values : operands)
    inputs.push_back(tensor_of(type, {static_cast<int64_t>(values.size())}, values));
  const auto results = evaluate(op, inputs);
  return results.empty() ? Doubles{} : values_of(results[0]);
}

TEST(Pointwise, IntegersAreDefinedEverywhere) {
  EXPECT_EQ(apply("div", kInt32, {{7, -7, 5, INT32_MIN}, {2, 2, 0, -1}}),
            (Doubles{3, -3, 0, INT32_MIN}));
  EXPECT_EQ(apply("floor_div", kInt32, {{7, -7, 5}, {2, 2, 0}}), (Doubles{3, -4, 0}));
  EXPECT_EQ(apply("mod", kInt32, {{7, -7, 7, 5, INT32_MIN}, {3, 3, -3, 0, -1}}),
            (Doubles{1, 2, -2, 0, 0}));
  EXPECT_EQ(apply("fmod", kInt32, {{7, -7, 7}, {3, 3, -3}}), (Doubles{1, -1, 1}));
  EXPECT_EQ(apply("add", kInt8, {{127}, {1}}), (Doubles{-128}));
  EXPECT_EQ(apply("mul", kInt32, {{65536}, {65536}}), (Doubles{0}));
  EXPECT_EQ(apply("abs", kInt8, {{-128, -3}}), (Doubles{-128, 3}));
  EXPECT_EQ(apply("pow", kInt32, {{2, 2, -1, 3, 0}, {10, -1, -3, 0, 0}}),
            (Doubles{1024, 0, -1, 1, 1}));
  EXPECT_EQ(apply("shift_left", DataType::kUInt8, {{1, 255, 1}, {3, 1, 200}}),
            (Doubles{8, 254, 0}));
  EXPECT_EQ(apply("shift_right", kInt32, {{-8, 8, -8}, {1, 40, 99}}), (Doubles{-4, 0, -1}));
  EXPECT_EQ(apply("clip{alpha = -inf, beta = 3}", kInt32, {{-5, 9}}), (Doubles{-5, 3}));
  EXPECT_EQ(apply("add", DataType::kInt4, {{7, -8}, {1, -1}}), (Doubles{-8, 7}));
}

TEST(Pointwise, RealTypes) {
  EXPECT_EQ(apply("mod", kFloat32, {{-7.5, 7.5}, {2, -2}}), (Doubles{0.5, -0.5}));
  EXPECT_EQ(apply("max", kFloat32, {{1, 5}, {2, 3}}), (Doubles{2, 5}));
  EXPECT_TRUE(std::isnan(apply("max", kFloat32, {{NAN}, {1}})[0]));
  EXPECT_TRUE(std::isnan(apply("max", kFloat32, {{1}, {NAN}})[0]));
  EXPECT_TRUE(std::isnan(apply("relu", kFloat32, {{NAN}})[0]));
  EXPECT_EQ(apply("round", kFloat32, {{0.5, 1.5, -2.5}}), (Doubles{0, 2, -2}));
  EXPECT_EQ(apply("mul", DataType::kFloat16, {{255}, {255}}), (Doubles{65024}));
  EXPECT_EQ(apply("add", DataType::kBFloat16, {{256}, {1}}), (Doubles{256}));
  EXPECT_EQ(apply("mul", DataType::kFloat8E4M3, {{16}, {1.5}}), (Doubles{24}));
  EXPECT_EQ(apply("is_inf{alpha = 1}", kFloat32, {{INFINITY, -INFINITY, NAN, 1}}),
            (Doubles{0, 1, 0, 0}));
  EXPECT_NEAR(apply("gelu_erf", kFloat32, {{1}})[0], 0.8413447, kRounded);
  EXPECT_NEAR(apply("erf", DataType::kFloat64, {{0.5}})[0], 0.5204998778130465,
              tolerance(Computation::kReference, DataType::kFloat64).relative);
  EXPECT_EQ(apply("xor", kBool, {{1, 0, 1}, {1, 1, 0}}), (Doubles{0, 1, 1}));
}

/// Against index arithmetic, over random shapes that broadcast.
TEST(Pointwise, BroadcastsAnyShapes) {
  std::mt19937 random(3);
  const auto pick = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  for (int round = 0; round < 200; ++round) {
    Extents out, shapes[2];
    for (int axis = pick(0, 4); axis > 0; --axis) out.push_back(pick(1, 4));
    std::vector<Tensor> inputs;
    for (Extents& shape : shapes) {
      shape.assign(out.end() - pick(0, static_cast<int>(out.size())), out.end());
      for (int64_t& extent : shape) extent = pick(0, 2) == 0 ? 1 : extent;
      Tensor tensor(kInt32, shape);
      for (int64_t i = 0; i < tensor.count(); ++i) tensor.set_from_int64(i, pick(-99, 99));
      inputs.push_back(tensor);
    }
    const Tensor result = evaluate("sub", inputs).at(0);
    const Extents& extents = result.extents();
    for (int64_t i = 0; i < result.count(); ++i) {
      int64_t places[2] = {0, 0}, strides[2] = {1, 1}, rest = i;
      for (size_t axis = 0; axis < extents.size(); ++axis) {
        const int64_t place = rest % extents[extents.size() - 1 - axis];
        rest /= extents[extents.size() - 1 - axis];
        for (int k = 0; k < 2; ++k) {
          if (axis >= shapes[k].size()) continue;
          const int64_t extent = shapes[k][shapes[k].size() - 1 - axis];
          places[k] += extent == 1 ? 0 : place * strides[k];
          strides[k] *= extent;
        }
      }
      ASSERT_EQ(result.as_int64(i), inputs[0].as_int64(places[0]) - inputs[1].as_int64(places[1]));
    }
  }
}

TEST(Pointwise, ShapeArithmeticStaysSymbolic) {
  const auto graph = graph_of("%0: i64[2]=(batch,12), %1: i64[]=(4), %9: bool[2]=(1,0)",
                              R"(%2 = mul(%0, %1) : f32[]
                                 %3 = div(%2, %1) : f32[]
                                 %4 = where(%9, %3, %2) : f32[]
                                 %5 = reduce(%4) {function = prod} : f32[]
                                 %6 = equal(%0, %3) : f32[]
                                 %7 = floor_div(%2, %1) : f32[]
                                 return %3, %4, %5, %6, %7)");
  ASSERT_NE(graph, nullptr);
  const Dim batch = Dim::symbol("batch");
  EXPECT_EQ(*graph->outputs()[0]->elements, (std::vector<Dim>{batch, 12}));
  EXPECT_EQ(*graph->outputs()[1]->elements, (std::vector<Dim>{batch, 48}));
  EXPECT_EQ(*graph->outputs()[2]->elements, (std::vector<Dim>{batch * 48}));
  EXPECT_EQ(*graph->outputs()[3]->elements, (std::vector<Dim>{1, 1}));
  EXPECT_EQ(*graph->outputs()[4]->elements, (std::vector<Dim>{batch, 12}));
}

/// Shapes are vectors, of integers.
TEST(Pointwise, ElementsAreThoseOfVectorsOfIntegers) {
  const auto graph = graph_of("%0: i64[1]=(batch)", R"(
    %1 = constant() {value = i64[1,1]{3}} : i64[1,1]
    %3 = add(%0, %1) : i64[1,1]
    %4 = cast(%0) {to = i32} : i32[1]
    %5 = cast(%0) {to = f32} : f32[1]
    return %3, %4, %5)");
  ASSERT_NE(graph, nullptr);
  const auto known = [&](int output) { return graph->outputs()[output]->elements; };
  EXPECT_EQ(known(0), std::nullopt);
  EXPECT_EQ(known(1), (std::vector<Dim>{Dim::symbol("batch")}));
  EXPECT_EQ(known(2), std::nullopt);
}

TEST(Cast, FollowsOnnx) {
  const auto cast = [](DataType from, const std::string& attributes, Doubles values) {
    return apply("cast{" + attributes + "}", from, {values});
  };
  EXPECT_EQ(cast(kFloat32, "to = i32", {-1.9, 1e20, NAN}), (Doubles{-1, INT32_MAX, 0}));
  EXPECT_EQ(cast(kInt64, "to = i8", {200, 256}), (Doubles{-56, 0}));
  EXPECT_EQ(cast(kInt64, "to = bool", {0, 5}), (Doubles{0, 1}));
  EXPECT_EQ(cast(kBool, "to = f16", {0, 1}), (Doubles{0, 1}));
  EXPECT_EQ(cast(kFloat32, "to = i4", {-9, 8, 3.7}), (Doubles{7, -8, 3}));
  EXPECT_EQ(cast(kFloat32, "to = f8e4m3", {1000, -1000}), (Doubles{448, -448}));
  EXPECT_TRUE(std::isnan(cast(kFloat32, "to = f8e4m3, saturate = false", {1000})[0]));
  EXPECT_EQ(cast(kFloat32, "to = f8e5m2, saturate = false", {1e9}), (Doubles{INFINITY}));
  EXPECT_EQ(cast(kFloat32, "to = f8e8m0, round_mode = \"down\"", {3}), (Doubles{2}));
  EXPECT_EQ(cast(DataType::kUInt64, "to = f64", {1.8e19}), (Doubles{1.8e19}));
}

/// By the definition, in double.
Doubles naive_product(const Tensor& a, const Tensor& b, int64_t m, int64_t k, int64_t n) {
  Doubles result(m * n, 0.0);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j)
      for (int64_t p = 0; p < k; ++p)
        result[i * n + j] += a.as_double(i * k + p) * b.as_double(p * n + j);
  return result;
}

Tensor random_tensor(DataType type, Extents extents, int seed) {
  std::mt19937 random(seed);
  Tensor tensor(type, std::move(extents));
  for (int64_t i = 0; i < tensor.count(); ++i)
    tensor.set_from_int64(i, std::uniform_int_distribution<int>(-4, 4)(random));
  return tensor;
}

TEST(MatMul, MatchesTheDefinition) {
  for (const DataType type : {kFloat32, DataType::kFloat64, DataType::kBFloat16, kInt8}) {
    for (const auto& [m, k, n] :
         {std::array{1, 1, 1}, {5, 300, 9}, {4, 8, 8}, {7, 0, 3}, {3, 5, 2100}}) {
      const Tensor a = random_tensor(type, {m, k}, m), b = random_tensor(type, {k, n}, n);
      const Tensor c = evaluate("matmul", {a, b}).at(0);
      Doubles expected = naive_product(a, b, m, k, n);
      if (type == DataType::kBFloat16)
        for (double& value : expected)
          value = tensor_of(DataType::kBFloat16, {}, {value}).as_double(0);
      EXPECT_EQ(values_of(c), expected) << m << " " << k << " " << n;
    }
  }
}

TEST(MatMul, BatchesVectorsAndTransposes) {
  const Tensor a = random_tensor(kFloat32, {2, 1, 3, 4}, 1),
               b = random_tensor(kFloat32, {5, 4, 6}, 2);
  const Tensor c = evaluate("matmul", {a, b}).at(0);
  EXPECT_EQ(c.extents(), (Extents{2, 5, 3, 6}));
  const Tensor same = evaluate("einsum{equation = \"abij,bjk->abik\"}", {a, b}).at(0);
  EXPECT_EQ(values_of(c), values_of(same));
  const Tensor vector = random_tensor(kFloat32, {4}, 3);
  EXPECT_EQ(evaluate("matmul", {vector, b}).at(0).extents(), (Extents{5, 6}));
  EXPECT_EQ(evaluate("matmul", {a, vector}).at(0).extents(), (Extents{2, 1, 3}));
  EXPECT_EQ(evaluate("matmul", {vector, vector}).at(0).extents(), (Extents{}));
  const Tensor at = evaluate("einsum{equation = \"...ij->...ji\"}", {a}).at(0);
  const Tensor bt = evaluate("einsum{equation = \"bjk->bkj\"}", {b}).at(0);
  EXPECT_EQ(values_of(evaluate("matmul{transpose_a = true, transpose_b = true}", {at, bt}).at(0)),
            values_of(c));
  EXPECT_NE(
      infer_error("%0: f32[2,3], %1: f32[4,2]", "%2 = matmul(%0,%1) : f32[] return").find("inner"),
      std::string::npos);
}

TEST(Einsum, GeneralForms) {
  const Tensor m = tensor_of(kFloat32, {2, 2}, {1, 2, 3, 4}),
               v = tensor_of(kFloat32, {2}, {10, 20});
  const auto einsum = [](const std::string& equation, const std::vector<Tensor>& inputs) {
    return values_of(evaluate("einsum{equation = \"" + equation + "\"}", inputs).at(0));
  };
  EXPECT_EQ(einsum("ii->i", {m}), (Doubles{1, 4}));
  EXPECT_EQ(einsum("ii", {m}), (Doubles{5}));
  EXPECT_EQ(einsum("ij->", {m}), (Doubles{10}));
  EXPECT_EQ(einsum("ba", {m}), (Doubles{1, 3, 2, 4}));
  EXPECT_EQ(einsum("i,j->ij", {v, v}), (Doubles{100, 200, 200, 400}));
  EXPECT_EQ(einsum("i,ij,j->", {v, m, v}), (Doubles{100 + 400 + 600 + 1600}));
  EXPECT_EQ(einsum("ij,k->i", {m, v}), (Doubles{90, 210}));
  EXPECT_EQ(einsum("AZ,za->ZAza", {m, m}), einsum("ij,kl->jikl", {m, m}));
}

/// Numbers that shapes are made of are known as far as symbols tell.
TEST(Pointwise, ExtentsAreComparedAndDivided) {
  const auto graph = graph_of("%0: f32[n]", R"(
    %1 = dims() {expressions = ["n"], extents = [1]} : i64[1]
    %2 = dims() {expressions = ["n+1"], extents = [1]} : i64[1]
    %3 = constant() {value = i64[1]{1}} : i64[1]
    %4 = constant() {value = i64[1]{0}} : i64[1]
    %5 = greater(%2, %1) : bool[1]
    %6 = less(%2, %1) : bool[1]
    %7 = less_equal(%1, %2) : bool[1]
    %8 = div(%2, %3) : i64[1]
    %9 = div(%2, %4) : i64[1]
    %10 = greater_equal(%1, %2) : bool[1]
    %11 = greater(%1, %1) : bool[1]
    %12 = less(%1, %2) : bool[1]
    %13 = greater_equal(%1, %1) : bool[1]
    %14 = less_equal(%2, %1) : bool[1]
    return %5, %6, %7, %8, %9, %10, %11, %12, %13, %14)");
  ASSERT_NE(graph, nullptr);
  const auto known = [&](int output) { return graph->outputs()[output]->elements; };
  EXPECT_EQ(known(0), (std::vector<Dim>{1}));
  EXPECT_EQ(known(1), (std::vector<Dim>{0}));
  EXPECT_EQ(known(2), (std::vector<Dim>{1}));
  EXPECT_EQ(known(3), (std::vector<Dim>{Dim::symbol("n") + 1}));
  EXPECT_EQ(known(4), std::nullopt);
  for (const auto& [output, truth] : {std::pair(5, 0), {6, 0}, {7, 1}, {8, 1}, {9, 0}})
    EXPECT_EQ(known(output), (std::vector<Dim>{truth})) << output;
}

TEST(MatMul, TakesOneTypeOrIntegers) {
  for (const char* other : {"i32", "f16", "bool"})
    EXPECT_NE(infer_error(fmt::format("%0: f32[2,2], %1: {}[2,2]", other),
                          "%2 = matmul(%0, %1) : f32[] return %2")
                  .find("of one type"),
              std::string::npos)
        << other;
  EXPECT_NE(graph_of("%0: i8[2,2], %1: u8[2,2]", "%2 = matmul(%0, %1) : f32[] return %2"), nullptr);
}

TEST(Reduce, EveryFunction) {
  const Tensor x = tensor_of(kFloat32, {2, 3}, {1, -2, 3, 4, 5, -6});
  const auto reduce = [&](const std::string& attributes) {
    return values_of(evaluate("reduce{keep_dims = false, " + attributes + "}", {x}).at(0));
  };
  EXPECT_EQ(reduce("axes = [1], function = sum"), (Doubles{2, 3}));
  EXPECT_EQ(reduce("axes = [0], function = prod"), (Doubles{4, -10, -18}));
  EXPECT_EQ(reduce("axes = [-1], function = max"), (Doubles{3, 5}));
  EXPECT_EQ(reduce("function = min"), (Doubles{-6}));
  EXPECT_EQ(reduce("axes = [0], function = mean"), (Doubles{2.5, 1.5, -1.5}));
  EXPECT_EQ(reduce("axes = [1], function = l1"), (Doubles{6, 15}));
  EXPECT_NEAR(reduce("function = l2")[0], std::sqrt(91), 4 * kRounded);
  EXPECT_EQ(reduce("function = sum_square"), (Doubles{91}));
  EXPECT_NEAR(reduce("axes = [0,1], function = log_sum")[0], std::log(5), kRounded);
  EXPECT_NEAR(
      reduce("axes = [0,1], function = log_sum_exp")[0],
      std::log(std::exp(1) + std::exp(-2) + std::exp(3) + std::exp(4) + std::exp(5) + std::exp(-6)),
      4 * kRounded);
  const Tensor cube = random_tensor(kInt32, {2, 3, 4, 5}, 9);
  EXPECT_EQ(values_of(evaluate("reduce{axes = [0,2]}", {cube}).at(0)),
            values_of(evaluate("einsum{equation = \"abcd->bd\"}", {cube}).at(0)));
}

/// Of no elements: the least or largest number of the type.
TEST(Reduce, OfNothing) {
  const auto reduce = [&](DataType type, const char* function) {
    const Tensor none(type, {0});
    return values_of(evaluate(fmt::format("reduce{{function = {}}}", function), {none}).at(0))
        .at(0);
  };
  EXPECT_EQ(reduce(kFloat32, "max"), -INFINITY);
  EXPECT_EQ(reduce(kFloat16, "min"), INFINITY);
  EXPECT_EQ(reduce(kInt8, "max"), -128);
  EXPECT_EQ(reduce(kInt8, "min"), 127);
  EXPECT_EQ(reduce(kInt32, "max"), -2147483648.0);
  EXPECT_EQ(reduce(kUInt8, "max"), 0);
  EXPECT_EQ(reduce(kUInt8, "min"), 255);
  EXPECT_EQ(reduce(kInt4, "min"), 7);
  EXPECT_EQ(reduce(kBool, "max"), 0);
  EXPECT_EQ(reduce(kBool, "min"), 1);
  EXPECT_EQ(reduce(kInt32, "prod"), 1);
  EXPECT_EQ(reduce(kInt32, "mean"), 0);
}

/// A sum over no axes has one term: squares and magnitudes are taken all the same.
TEST(Reduce, OverNoAxes) {
  const Tensor x = tensor_of(kFloat32, {2, 2}, {1, -2, 3, -0.5});
  const auto reduce = [&](const std::string& function) {
    return values_of(
        evaluate("reduce{empty_is_identity = true, function = " + function + "}", {x}).at(0));
  };
  for (const char* same : {"sum", "prod", "max", "min", "mean", "log_sum_exp"})
    EXPECT_EQ(reduce(same), (Doubles{1, -2, 3, -0.5})) << same;
  for (const char* magnitude : {"l1", "l2"})
    EXPECT_EQ(reduce(magnitude), (Doubles{1, 2, 3, 0.5})) << magnitude;
  EXPECT_EQ(reduce("sum_square"), (Doubles{1, 4, 9, 0.25}));
  EXPECT_NEAR(reduce("log_sum")[2], std::log(3), kRounded);
}

TEST(Selection, NoPlacesOfNoElements) {
  const Tensor none(kFloat32, {2, 0, 0});
  EXPECT_EQ(evaluate("arg_reduce{axis = 1}", {none}).at(0).extents(), (Extents{2, 1, 0}));
}

TEST(Selection, ArgReduceAndTopK) {
  const Tensor x = tensor_of(kFloat32, {2, 4}, {3, 9, 9, 1, NAN, 2, 7, 7});
  EXPECT_EQ(values_of(evaluate("arg_reduce{axis = 1}", {x}).at(0)), (Doubles{1, 0}));
  EXPECT_EQ(values_of(evaluate("arg_reduce{axis = 1, last_index = true}", {x}).at(0))[0], 2);
  EXPECT_EQ(values_of(evaluate("arg_reduce{axis = 1, largest = false}", {x}).at(0)),
            (Doubles{3, 1}));
  const auto top = evaluate(
      "topk{axis = 0}", {tensor_of(kInt32, {3, 2}, {1, 5, 4, 5, 2, 0}), Tensor::scalar_i64(2)}, 2);
  EXPECT_EQ(values_of(top.at(0)), (Doubles{4, 5, 2, 5}));
  EXPECT_EQ(values_of(top.at(1)), (Doubles{1, 0, 2, 1}));
}

/// Shares of the whole row, also of the numbers that are not chosen.
TEST(Selection, TopKOfASoftmax) {
  const double all = std::exp(1) + std::exp(2) + std::exp(3);
  const std::vector<Tensor> inputs{tensor_of(kFloat32, {1, 3}, {1, 3, 2}), Tensor::scalar_i64(2)};
  const auto shares = evaluate("topk{softmax = true}", inputs, 2);
  EXPECT_EQ(values_of(shares.at(1)), (Doubles{1, 2}));
  const auto logs = evaluate("topk{softmax = true, log = true}", inputs, 2);
  for (int i = 0; i < 2; ++i) {
    EXPECT_NEAR(shares.at(0).as_double(i), std::exp(3 - i) / all, kRounded);
    EXPECT_NEAR(logs.at(0).as_double(i), 3 - i - std::log(all), 4 * kRounded);
  }
}

TEST(Cumulative, AllDirections) {
  const std::vector<Tensor> x{tensor_of(kInt32, {4}, {1, 2, 3, 4}), Tensor::scalar_i64(0)};
  EXPECT_EQ(values_of(evaluate("cumulative", x).at(0)), (Doubles{1, 3, 6, 10}));
  EXPECT_EQ(values_of(evaluate("cumulative{exclusive = true}", x).at(0)), (Doubles{0, 1, 3, 6}));
  EXPECT_EQ(values_of(evaluate("cumulative{reverse = true}", x).at(0)), (Doubles{10, 9, 7, 4}));
  EXPECT_EQ(values_of(evaluate("cumulative{product = true}", x).at(0)), (Doubles{1, 2, 6, 24}));
  EXPECT_EQ(values_of(evaluate("det", {tensor_of(kFloat32, {2, 2}, {0, 2, 3, 4})}).at(0)),
            (Doubles{-6}));
}

TEST(Quantize, PerTensorAxisAndBlock) {
  const Tensor x = tensor_of(kFloat32, {2, 4}, {-1, 0.5, 1.5, 300, 2, -3, 5, -300});
  const Tensor one = tensor_of(kFloat32, {}, {1});
  EXPECT_EQ(values_of(evaluate("quantize", {x, one}).at(0)),
            (Doubles{-1, 0, 2, 127, 2, -3, 5, -128}));
  const Tensor rows = tensor_of(kFloat32, {2}, {1, 2});
  const Tensor zeros = tensor_of(DataType::kUInt8, {2}, {10, 100});
  EXPECT_EQ(values_of(evaluate("quantize{axis = 0}", {x, rows, zeros}).at(0)),
            (Doubles{9, 10, 12, 255, 101, 98, 102, 0}));
  EXPECT_EQ(values_of(evaluate("quantize{to = f8e4m3}", {x, one}).at(0))[3], 288);
  EXPECT_EQ(values_of(evaluate("quantize{to = i4}", {x, one}).at(0))[7], -8);
  const Tensor blocks = tensor_of(kFloat32, {2, 2}, {1, 2, 4, 8});
  const Tensor q = tensor_of(kInt8, {2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_EQ(values_of(evaluate("dequantize{axis = 1, block_size = 2}", {q, blocks}).at(0)),
            (Doubles{1, 2, 6, 8, 20, 24, 56, 64}));
  EXPECT_NE(infer_error("%0: f32[2,4], %1: f32[3]", "%2 = quantize(%0,%1) : f32[] return"), "");
  const auto dynamic = evaluate("dynamic_quantize", {tensor_of(kFloat32, {3}, {-1, 0, 1.55})}, 3);
  EXPECT_EQ(values_of(dynamic.at(0)), (Doubles{0, 100, 255}));
  EXPECT_EQ(values_of(dynamic.at(2)), (Doubles{100}));
}

}  // namespace
}  // namespace tenon
