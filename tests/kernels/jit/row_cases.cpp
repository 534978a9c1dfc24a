#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16};

void add_softmax(Cases& cases) {
  const std::vector<std::pair<Extents, std::vector<int64_t>>> shapes = {
      {{7, 3}, {1}},       {{4, 5, 128}, {2}}, {{2, 1000}, {1}},       {{3, 70001}, {1}},
      {{2, 6, 5, 4}, {1}}, {{3, 8, 9}, {0}},   {{2, 3, 4, 8}, {1, 3}}, {{1, 16384}, {1}},
      {{400, 64}, {1}},    {{1}, {0}}};
  int seed = 0;
  for (const DataType type : kTypes)
    for (const auto& [extents, axes] : shapes) {
      Softmax op;
      op.axes = axes;
      op.log = ++seed % 3 == 0;
      add(cases, fmt::format("softmax {} {}", name_of(type), seed), std::move(op),
          std::vector{input(random_reals(type, extents, seed, -9, 9))});
    }
  // Along axes that are not the fastest: few and many columns, columns in eights and not.
  const std::vector<std::pair<Extents, std::vector<int64_t>>> columns = {
      {{2, 4, 16, 2100}, {2}}, {{3, 16, 8400}, {1}}, {{16, 40000}, {0}},
      {{2, 37, 51}, {1}},      {{700, 24}, {0}},     {{2, 3, 5, 2, 96}, {1, 3}}};
  for (const DataType type : kTypes)
    for (const auto& [extents, axes] : columns) {
      Softmax op;
      op.axes = axes;
      op.log = ++seed % 3 == 0;
      auto& c = add(cases, fmt::format("softmax columns {} {}", name_of(type), seed), std::move(op),
                    std::vector{input(random_reals(type, extents, seed, -9, 9))});
      if (seed % 2 == 0)
        c.then(PointwiseFunction::k_mul, input(random_reals(type, extents, seed + 1)));
    }
  Softmax op;
  op.axes = {1};
  add(cases, "softmax nhwc", op,
      std::vector{input(random_reals(DataType::kFloat16, {2, 24, 5, 3}, 1), Layout::kChannelsLast)})
      .output_layout(Layout::kChannelsLast)
      .then(PointwiseFunction::k_mul, input(random_reals(DataType::kFloat16, {2, 24, 5, 3}, 2)))
      .then(PointwiseFunction::k_sub, input(random_reals(DataType::kFloat16, {24, 1, 1}, 3)), true);
}

void add_layer_norms(Cases& cases) {
  const std::vector<std::pair<Extents, int64_t>> shapes = {{{5, 768}, -1},    {{2, 7, 33}, 2},
                                                           {{3, 4, 5, 6}, 1}, {{2, 40000}, 1},
                                                           {{600, 96}, 1},    {{9, 80001}, 1}};
  int seed = 100;
  for (const DataType type : kTypes)
    for (const auto& [extents, axis] : shapes) {
      Normalization op;
      op.norm = ++seed % 2 != 0 ? NormKind::kLayer : NormKind::kRms;
      op.axis = axis;
      const Extents tail(
          extents.end() - (axis < 0 ? 1 : static_cast<int64_t>(extents.size()) - axis),
          extents.end());
      std::vector inputs{input(random_reals(type, extents, seed, -2, 5)),
                         constant(random_reals(type, tail, seed + 1))};
      if (op.norm == NormKind::kLayer) inputs.push_back(input(random_reals(type, tail, seed + 2)));
      auto& c = add(cases, fmt::format("normalization {} {}", name_of(type), seed), std::move(op),
                    inputs);
      if (seed % 4 == 0)
        c.then(PointwiseFunction::k_add, input(random_reals(type, extents, seed + 3)))
            .then(PointwiseFunction::k_gelu_erf);
    }
  Normalization op;
  add(cases, "layer norm with statistics", op,
      std::vector{input(random_reals(DataType::kFloat16, {6, 64}, 1)),
                  input(random_reals(DataType::kFloat32, {64}, 2))},
      3);
}

void add_sum_norms(Cases& cases) {
  int seed = 400;
  for (const DataType type : kTypes)
    for (const int64_t length : {768, 33, 4096})
      for (const NormKind kind : {NormKind::kLayer, NormKind::kRms}) {
        Normalization op;
        op.norm = kind;
        const Extents extents = {3, 5, length};
        ++seed;
        std::vector factors{constant(random_reals(type, {length}, seed + 2)),
                            constant(random_reals(type, {length}, seed + 3))};
        if (kind == NormKind::kRms) factors.pop_back();
        add(cases, fmt::format("sum norm {} {}", name_of(type), seed),
            Pointwise(PointwiseFunction::k_add),
            std::vector{input(random_reals(type, extents, seed)),
                        input(random_reals(type, {5, length}, seed + 1))})
            .then_op(std::move(op), factors)
            .roundings(3);
      }
}

void add_group_norms(Cases& cases) {
  int seed = 200;
  for (const DataType type : kTypes)
    for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast})
      for (const int64_t channels : {int64_t{6}, int64_t{32}, int64_t{320}})
        for (const bool group : {false, true}) {
          Normalization op;
          op.norm = group ? NormKind::kGroup : NormKind::kInstance;
          op.groups = group ? (channels == 320 ? 32 : 2) : 1;
          const Extents extents = {2, channels, 9, 1 + ++seed % 13};
          auto& c =
              add(cases, fmt::format("group norm {} {}", name_of(type), seed), std::move(op),
                  std::vector{input(random_reals(type, extents, seed, 1, 3), layout),
                              constant(random_reals(DataType::kFloat32, {channels}, seed + 1)),
                              constant(random_reals(type, {channels}, seed + 2))});
          c.output_layout(layout);
          if (seed % 2 == 0) c.then(PointwiseFunction::k_swish, 1);
        }
  for (const DataType type : kTypes)
    for (const auto& [extents, buffer] :
         {std::pair<Extents, Extents>{{2, 32, 9, 15}, {2, 32, 10, 16}},
          {{1, 6, 5, 7}, {1, 8, 5, 9}},
          {{3, 64, 4, 6, 5}, {3, 64, 5, 6, 6}}}) {
      Normalization op;
      op.norm = NormKind::kInstance;
      const Tensor x = random_reals(type, extents, ++seed, 1, 3);
      add(cases, fmt::format("group norm of a corner {} {}", name_of(type), seed), std::move(op),
          std::vector{corner(input(x, Layout::kChannelsLast), buffer),
                      constant(random_reals(DataType::kFloat32, {extents[1]}, seed + 1)),
                      constant(random_reals(type, {extents[1]}, seed + 2))})
          .output_layout(Layout::kChannelsLast)
          .then(PointwiseFunction::k_swish, 1);
    }
  Normalization op;
  op.norm = NormKind::kGroup;
  op.groups = 32;
  add(cases, "group norm large", op,
      std::vector{input(random_reals(DataType::kFloat16, {2, 320, 48, 48}, 1, 3, 5),
                        Layout::kChannelsLast)})
      .output_layout(Layout::kChannelsLast)
      .then(PointwiseFunction::k_add,
            input(random_reals(DataType::kFloat16, {2, 320, 48, 48}, 2), Layout::kChannelsLast))
      .then(PointwiseFunction::k_swish, 1);
}

void add_reductions(Cases& cases) {
  const std::vector<std::pair<Extents, std::vector<int64_t>>> shapes = {
      {{3, 5}, {1}},       {{4, 700, 3}, {1}},   {{2, 3, 4, 5}, {0, 2}},
      {{100003}, {0}},     {{2, 64, 1000}, {1}}, {{5, 1, 9}, {1}},
      {{300, 48}, {0, 1}}, {{17, 2000}, {1}},    {{1000, 17}, {0}}};
  int seed = 300;
  for (const DataType type :
       {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16, DataType::kInt32})
    for (int function = 0; function < 10; ++function) {
      const auto& [extents, axes] = shapes[static_cast<size_t>(seed % 9)];
      Reduce op;
      op.function = static_cast<ReduceFunction>(function);
      op.axes = axes;
      op.keep_dims = ++seed % 2 == 0;
      Tensor x = is_real(type) ? random_reals(type, extents, seed, 0.9, 1.1)
                               : random_integers(type, extents, seed, 1, 3);
      // Products and sums of many f16 numbers leave its range.
      const bool large = element_count(extents) > 10000;
      if (type == DataType::kFloat16 && large && function != 4) continue;
      // Zeros are right for numbers below everything.
      if (type == DataType::kBFloat16 && large && op.function == ReduceFunction::kProd) continue;
      auto& c = add(cases, fmt::format("reduce {} {} {}", name_of(type), function, seed),
                    std::move(op), std::vector{input(std::move(x))});
      if (is_real(type) && function == 4) c.then(PointwiseFunction::k_hard_swish);
      if (function == 0 || function == 1) c.tolerance(is_real(type) ? 2e-2 : 0);
    }
  for (const DataType type : kTypes) {
    Reduce op;
    op.function = ReduceFunction::kMean;
    op.axes = {2, 3};
    add(cases, fmt::format("global average {}", name_of(type)), std::move(op),
        std::vector{input(random_reals(type, {3, 104, 14, 14}, 7), Layout::kChannelsLast)})
        .output_layout(Layout::kChannelsLast);
  }
  for (int i = 0; i < 8; ++i) {
    ArgReduce op;
    op.largest = i % 2 == 0;
    op.last_index = i % 4 > 1;
    op.axis = i % 3;
    op.keep_dims = i > 4;
    const Extents extents = {13, 40, 29};
    add(cases, fmt::format("arg_reduce {}", i), std::move(op),
        std::vector{input(i < 4 ? random_integers(DataType::kInt8, extents, i, -9, 9)
                                : random_reals(DataType::kFloat16, extents, i))});
  }
  ArgReduce op;
  op.axis = 0;
  add(cases, "arg_reduce long", op,
      std::vector{input(random_reals(DataType::kFloat32, {500000}, 5))});
}

}  // namespace

Cases row_cases() {
  Cases cases;
  add_softmax(cases);
  add_layer_norms(cases);
  add_group_norms(cases);
  add_sum_norms(cases);
  add_reductions(cases);
  return cases;
}

}  // namespace tenon::test
