#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

constexpr DataType kTypes[] = {DataType::kFloat32, DataType::kFloat16, DataType::kInt8,
                               DataType::kInt64};

Tensor values(DataType type, const Extents& extents, int seed) {
  return is_real(type) ? random_reals(type, extents, seed)
                       : random_integers(type, extents, seed, -100, 100);
}
void add_transposes(Cases& cases) {
  const std::vector<std::pair<Extents, std::vector<int64_t>>> shapes = {
      {{70, 130}, {1, 0}},           {{2, 3, 64, 72}, {0, 1, 3, 2}},
      {{2, 33, 5, 7}, {0, 2, 3, 1}}, {{4, 6, 12, 64}, {0, 2, 1, 3}},
      {{3, 5, 7, 2}, {3, 1, 2, 0}},  {{128, 256}, {1, 0}}};
  int seed = 0;
  for (const DataType type : kTypes)
    for (const auto& [extents, permutation] : shapes) {
      Transpose op;
      op.permutation = permutation;
      add(cases, fmt::format("transpose {} {}", name_of(type), ++seed), std::move(op),
          std::vector{input(values(type, extents, seed))});
    }
  for (const Layout from : {Layout::kRowMajor, Layout::kChannelsLast})
    for (const DataType type : {DataType::kFloat32, DataType::kFloat16})
      for (const int64_t channels : {int64_t{3}, int64_t{64}, int64_t{130}})
        add(cases, fmt::format("reformat {} {}", name_of(type), channels), Reformat(),
            std::vector{input(values(type, {2, channels, 15, 12}, ++seed), from)})
            .output_layout(from == Layout::kRowMajor ? Layout::kChannelsLast : Layout::kRowMajor);
}

/// More pieces than one launch takes, of several widths, and one that fills a GPU beside small
/// ones.
void add_joined_copies(Cases& cases) {
  const DataType f16 = DataType::kFloat16;
  Concat concat;
  concat.axis = 1;
  std::vector<CaseInput> pieces;
  for (int64_t i = 0; i < 40; ++i)
    pieces.push_back(input(values(f16, {3, 1 + i % 5, 8}, static_cast<int>(i))));
  add(cases, "concat of forty", concat, pieces).only("cuda.copy.strided");
  add(cases, "concat of large and small", concat,
      std::vector{input(values(f16, {2, 3}, 1)), input(values(f16, {2, 1300000}, 2)),
                  input(values(f16, {2, 5}, 3))})
      .only("cuda.copy.strided");
}

void add_views(Cases& cases) {
  const DataType f16 = DataType::kFloat16;
  Concat concat;
  concat.axis = 1;
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast})
    add(cases, "concat", concat,
        std::vector{input(values(f16, {2, 8, 5, 3}, 1), layout),
                    input(values(f16, {2, 3, 5, 3}, 2)),
                    input(values(f16, {2, 16, 5, 3}, 3), layout)})
        .output_layout(layout);
  add_joined_copies(cases);
  Split split;
  split.axis = -1;
  add(cases, "split", split, std::vector{input(values(f16, {4, 9, 48}, 4)), list({8, 31, 9})}, 3);
  add(cases, "split with an empty part", split,
      std::vector{input(values(f16, {4, 9, 48}, 4)), list({17, 0, 31})}, 3);
  add(cases, "expand", Expand(), std::vector{input(values(f16, {4, 1, 8}, 5)), list({2, 1, 6, 8})});
  add(cases, "expand last", Expand(),
      std::vector{input(values(f16, {4, 6, 1}, 5)), list({4, 6, 8})});
  add(cases, "slice", Slice(),
      std::vector{input(values(f16, {5, 20, 30}, 6)), list({1, 3}), list({4, 29}), list({0, 2}),
                  list({2, 5})});
  add(cases, "slice backwards", Slice(),
      std::vector{input(values(f16, {5, 20, 30}, 7)), list({-1, 25}), list({-100, 2}), list({1, 2}),
                  list({-1, -3})});
  add(cases, "reshape", Reshape(), std::vector{input(values(f16, {6, 35}, 8)), list({7, 30})});
}

void add_gathers(Cases& cases) {
  const auto indices = [](DataType type, Extents extents, int64_t extent) {
    return input(random_integers(type, std::move(extents), 3, -extent, extent - 1));
  };
  for (const DataType type : kTypes)
    for (const int64_t axis : {0, 1, 2}) {
      Gather gather;
      gather.axis = axis;
      const Extents extents = {9, 11, 24};
      add(cases, fmt::format("gather {} {}", name_of(type), axis), gather,
          std::vector{
              input(values(type, extents, 1)),
              indices(axis == 1 ? DataType::kInt32 : DataType::kInt64, {3, 5}, extents[axis])});
      GatherElements elements;
      elements.axis = axis;
      add(cases, fmt::format("gather_elements {} {}", name_of(type), axis), elements,
          std::vector{input(values(type, extents, 1)),
                      indices(DataType::kInt64, {4, 6, 20}, extents[axis])});
    }
  Gather embedding;
  add(cases, "embedding", embedding,
      std::vector{constant(values(DataType::kFloat16, {500, 128}, 2)),
                  indices(DataType::kInt64, {2, 64}, 500)});
  for (const int64_t rows : {1, 37}) {
    auto& tables = add(cases, fmt::format("gathers from tables {}", rows), embedding,
                       std::vector{constant(values(DataType::kFloat16, {500, 64}, 2)),
                                   indices(DataType::kInt64, {rows}, 500)});
    for (int i = 0; i < 4; ++i)
      tables.beside_op(embedding,
                       {constant(values(DataType::kFloat16, {70 + i, 64}, 3 + i)),
                        indices(i % 2 == 0 ? DataType::kInt64 : DataType::kInt32, {rows}, 70 + i)});
  }
  Gather columns;
  columns.axis = 1;
  add(cases, "gathers of several shapes", embedding,
      std::vector{input(values(DataType::kFloat32, {50, 24}, 2)),
                  indices(DataType::kInt64, {3, 2}, 50)})
      .beside_op(columns, {input(values(DataType::kFloat32, {11, 9}, 4)),
                           indices(DataType::kInt64, {700}, 9)});
  GatherNd nd;
  add(cases, "gather_nd", nd,
      std::vector{input(values(DataType::kFloat32, {7, 7, 8}, 2)),
                  indices(DataType::kInt64, {5, 4, 2}, 7)});
  nd.batch_dims = 1;
  add(cases, "gather_nd batched", nd,
      std::vector{input(values(DataType::kFloat32, {5, 6, 7}, 2)),
                  indices(DataType::kInt64, {5, 4, 2}, 6)});
}

void add_borders(Cases& cases) {
  const DataType f16 = DataType::kFloat16;
  for (const PadFill fill :
       {PadFill::kConstant, PadFill::kReflect, PadFill::kEdge, PadFill::kWrap}) {
    Pad op;
    op.fill = fill;
    std::vector inputs{input(values(f16, {2, 8, 9, 16}, 1)), list({0, 0, 2, 8, 0, 0, -1, 8})};
    if (fill == PadFill::kConstant) inputs.push_back(input(values(f16, {}, 5)));
    add(cases, "pad", op, inputs);
  }
  Pad axes;
  add(cases, "pad axes", axes,
      std::vector{input(values(f16, {2, 8, 5, 3}, 1), Layout::kChannelsLast), list({1, 0, 2, 3}),
                  absent(), list({3, -2})})
      .output_layout(Layout::kChannelsLast);
  CenterCropPad crop;
  crop.axes = {1, 2};
  add(cases, "center_crop_pad", crop, std::vector{input(values(f16, {3, 9, 6}, 1)), list({4, 11})});
  add(cases, "tile", Tile(), std::vector{input(values(f16, {3, 1, 8}, 1)), list({2, 3, 2})});
  for (const bool upper : {false, true}) {
    Trilu op;
    op.upper = upper;
    add(cases, "trilu", op,
        std::vector{input(values(f16, {2, 9, 7}, 1)), constant(Tensor::scalar_i64(-2))});
  }
  ReverseSequence reverse;
  reverse.batch_axis = 1;
  reverse.time_axis = 0;
  add(cases, "reverse_sequence", reverse,
      std::vector{input(values(f16, {6, 4, 8}, 1)),
                  input(random_integers(DataType::kInt64, {4}, 1, 0, 6))});
  for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast})
    for (const bool crd : {false, true}) {
      DepthToSpace depth;
      depth.block = 2;
      depth.column_row_depth = crd;
      add(cases, "depth_to_space", depth, std::vector{input(values(f16, {2, 32, 5, 4}, 1), layout)})
          .output_layout(layout);
      SpaceToDepth space;
      space.block = 2;
      add(cases, "space_to_depth", space, std::vector{input(values(f16, {2, 8, 6, 4}, 1), layout)})
          .output_layout(layout);
    }
}

}  // namespace

Cases movement_cases() {
  Cases cases;
  add_transposes(cases);
  add_views(cases);
  add_gathers(cases);
  add_borders(cases);
  return cases;
}

Cases pooling_cases() {
  Cases cases;
  int seed = 0;
  for (const DataType type : {DataType::kFloat32, DataType::kFloat16, DataType::kBFloat16})
    for (const Layout layout : {Layout::kRowMajor, Layout::kChannelsLast})
      for (const PoolFunction function :
           {PoolFunction::kMax, PoolFunction::kAverage, PoolFunction::kLp}) {
        Pool op;
        op.function = function;
        op.kernel = {3, 2 + seed % 4};
        op.strides = {2, 1};
        op.pads_begin = {1, 1};
        op.pads_end = {1, 0};
        op.ceil_mode = seed % 2 == 0;
        op.count_include_pad = seed % 3 == 0;
        if (function == PoolFunction::kMax) op.dilations = {1, 2};
        add(cases, fmt::format("pool {} {}", name_of(type), ++seed), std::move(op),
            std::vector{input(random_reals(type, {2, 16, 13, 11}, seed), layout)})
            .output_layout(layout);
      }
  Pool op;
  op.kernel = {3};
  op.pad_mode = PadMode::kSameUpper;
  op.strides = {2};
  add(cases, "pool one axis with indices", op,
      std::vector{input(random_reals(DataType::kFloat32, {2, 3, 20}, 1))}, 2);
  op.kernel = {2, 3, 2};
  op.strides = {};
  op.pad_mode = PadMode::kSameLower;
  op.column_major_indices = true;
  add(cases, "pool three axes", op,
      std::vector{input(random_reals(DataType::kFloat16, {2, 8, 5, 6, 4}, 1))}, 2);
  op = {};
  op.kernel = {2, 2};
  op.strides = {2, 2};
  add(cases, "pool i8", op,
      std::vector{input(random_integers(DataType::kInt8, {2, 32, 6, 6}, 1, -128, 127),
                        Layout::kChannelsLast)})
      .output_layout(Layout::kChannelsLast);
  return cases;
}

}  // namespace tenon::test
