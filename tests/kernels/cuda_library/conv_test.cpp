// Convolutions by cuDNN: every configuration proposed against the reference, and refusals.
#include <gtest/gtest.h>

#include "kernels/cuda_library/region_case.h"

namespace tenon {
TENON_DECLARE_TACTIC(conv_cudnn)
namespace {

using F = PointwiseFunction;
using namespace tactics::conv_cudnn;

void check(RegionCase& test, DataType type, bool tf32 = false) {
  test.problem().numerics.tf32 = tf32;
  check_configs(test, {supports, configs, create}, library_tolerance(type, tf32));
}

struct Shape2d {
  int64_t n, c, h, w, k, r, s, stride, pad, dilation, groups;
};

template <class O = Conv> std::unique_ptr<Op> convolution(const Shape2d& p) {
  auto op = std::make_unique<O>();
  op->strides = {p.stride, p.stride};
  op->dilations = {p.dilation, p.dilation};
  op->pads_begin = op->pads_end = {p.pad, p.pad};
  op->groups = p.groups;
  return op;
}

Value* add_convolution(RegionCase& test, const Shape2d& p) {
  Value* x = test.input("x", {p.n, p.c, p.h, p.w});
  Value* w = test.constant({p.k, p.c / p.groups, p.r, p.s}, 0.2);
  return test.add(convolution(p), {x, w, test.constant({p.k})});
}

class ConvTypes : public testing::TestWithParam<DataType> {};
INSTANTIATE_TEST_SUITE_P(Cudnn, ConvTypes,
                         testing::Values(DataType::kFloat32, DataType::kFloat16,
                                         DataType::kBFloat16),
                         [](const auto& info) { return std::string(name_of(info.param)); });

TEST_P(ConvTypes, WindowsStridesAndDilations) {
  for (const Shape2d& p :
       {Shape2d{2, 32, 14, 15, 48, 1, 1, 1, 0, 1, 1}, Shape2d{1, 16, 17, 13, 32, 3, 3, 1, 1, 1, 1},
        Shape2d{1, 16, 17, 13, 32, 3, 3, 2, 1, 1, 1}, Shape2d{1, 16, 20, 20, 16, 3, 3, 1, 2, 2, 1},
        Shape2d{2, 16, 9, 9, 24, 2, 5, 1, 0, 1, 1}}) {
    SCOPED_TRACE(p.r * 100 + p.stride * 10 + p.dilation);
    RegionCase test(GetParam());
    add_convolution(test, p);
    test.finish(Layout::kChannelsLast);
    check(test, GetParam(), true);
  }
}

TEST_P(ConvTypes, ResidualAndActivations) {
  const std::pair<F, std::pair<double, double>> activations[] = {{F::k_relu, {}},
                                                                 {F::k_clip, {0, 6}},
                                                                 {F::k_sigmoid, {}},
                                                                 {F::k_swish, {1, 0}},
                                                                 {F::k_hard_swish, {}},
                                                                 {F::k_gelu_erf, {}},
                                                                 {F::k_leaky_relu, {.1, 0}},
                                                                 {F::k_hard_sigmoid, {0.2, 0.5}},
                                                                 {F::k_clip, {-0.5, 0.25}}};
  for (const auto& [function, parameters] : activations) {
    SCOPED_TRACE(std::string(pointwise_info(function).name));
    RegionCase test(GetParam());
    Value* y = add_convolution(test, {2, 32, 12, 12, 64, 3, 3, 1, 1, 1, 1});
    Value* sum = test.step(F::k_add, test.input("residual", {2, 64, 12, 12}), y);
    test.step(function, sum, nullptr, parameters.first, parameters.second);
    test.finish(Layout::kChannelsLast);
    check(test, GetParam(), true);
  }
}

TEST_P(ConvTypes, FewChannelsFromARowMajorImage) {
  for (const Shape2d& p :
       {Shape2d{2, 3, 37, 41, 32, 7, 7, 2, 3, 1, 1}, Shape2d{1, 3, 24, 24, 16, 3, 3, 2, 1, 1, 1},
        Shape2d{1, 4, 24, 24, 16, 3, 3, 1, 1, 1, 1},
        Shape2d{1, 3, 32, 32, 64, 16, 16, 16, 0, 1, 1}}) {
    SCOPED_TRACE(p.r);
    RegionCase test(GetParam());
    Value* x = test.input("x", {p.n, p.c, p.h, p.w});
    Value* y = test.add(convolution(p),
                        {x, test.constant({p.k, p.c, p.r, p.s}, 0.2), test.constant({p.k})});
    test.step(F::k_relu, y);
    test.finish(Layout::kChannelsLast, {x});
    check(test, GetParam(), true);
  }
}

TEST_P(ConvTypes, GroupsAndDepthwise) {
  for (const Shape2d& p : {Shape2d{2, 64, 10, 10, 64, 3, 3, 1, 1, 1, 4},
                           Shape2d{1, 32, 12, 12, 32, 3, 3, 2, 1, 1, 32}}) {
    SCOPED_TRACE(p.groups);
    RegionCase test(GetParam());
    add_convolution(test, p);
    test.finish(Layout::kChannelsLast);
    check(test, GetParam(), true);
  }
}

TEST_P(ConvTypes, TransposedWithBias) {
  RegionCase test(GetParam());
  Value* x = test.input("x", {1, 32, 8, 9});
  auto op = convolution<Deconv>({1, 32, 8, 9, 16, 4, 4, 2, 1, 1, 1});
  test.add(std::move(op), {x, test.constant({32, 16, 4, 4}, 0.2), test.constant({16})});
  test.finish(Layout::kChannelsLast);
  check(test, GetParam(), true);
}

TEST_P(ConvTypes, OneAndThreeSpatialAxes) {
  RegionCase line(GetParam());
  auto op = std::make_unique<Conv>();
  op->strides = {2}, op->pads_begin = op->pads_end = {1}, op->dilations = {1};
  line.step(F::k_gelu_erf,
            line.add(std::move(op), {line.input("x", {2, 32, 50}), line.constant({48, 32, 3}, 0.2),
                                     line.constant({48})}));
  line.finish(Layout::kChannelsLast);
  check(line, GetParam(), true);
  RegionCase volume(GetParam());
  auto op3 = std::make_unique<Conv>();
  op3->strides = op3->pads_begin = op3->pads_end = op3->dilations = {1, 1, 1};
  volume.add(std::move(op3),
             {volume.input("x", {1, 16, 6, 7, 8}), volume.constant({32, 16, 3, 3, 3}, 0.2)});
  volume.finish(Layout::kChannelsLast);
  check(volume, GetParam(), true);
}

TEST_P(ConvTypes, WritesChannelsOfAWiderImage) {
  RegionCase test(GetParam());
  add_convolution(test, {1, 32, 14, 14, 32, 3, 3, 1, 1, 1, 1});
  test.finish(Layout::kChannelsLast);
  test.widen(-1, {1, 96, 14, 14}, 64);
  check(test, GetParam(), true);
}

TEST(Cudnn, FullF32WhereTf32IsNotAllowed) {
  for (const bool region : {false, true}) {
    RegionCase test(DataType::kFloat32);
    Value* y = add_convolution(test, {1, 32, 14, 14, 64, 3, 3, 1, 1, 1, 1});
    if (region) test.step(F::k_relu, y);
    test.finish(Layout::kChannelsLast);
    check(test, DataType::kFloat32);
  }
}

TEST(Cudnn, ChannelsFirstImages) {
  RegionCase test(DataType::kFloat32);
  add_convolution(test, {1, 32, 14, 14, 64, 3, 3, 1, 1, 1, 1});
  test.finish(Layout::kRowMajor);
  check(test, DataType::kFloat32, true);
}

TEST(CudnnRefuses, WhatItCannotRead) {
  RegionCase first(DataType::kFloat16);
  add_convolution(first, {1, 32, 14, 14, 64, 3, 3, 1, 1, 1, 1});
  first.finish(Layout::kRowMajor);
  EXPECT_EQ(refusal(supports(first.problem())), "a channels-first image of 16-bit numbers");
  RegionCase variable(DataType::kFloat16);
  variable.add(convolution({1, 32, 14, 14, 64, 3, 3, 1, 1, 1, 1}),
               {variable.input("x", {1, 32, 14, 14}), variable.input("w", {64, 32, 3, 3})});
  variable.finish(Layout::kChannelsLast);
  EXPECT_EQ(refusal(supports(variable.problem())), "the weights are not constant");
  RegionCase step(DataType::kFloat16);
  step.step(F::k_mish, add_convolution(step, {1, 32, 14, 14, 64, 3, 3, 1, 1, 1, 1}));
  step.finish(Layout::kChannelsLast);
  EXPECT_EQ(refusal(supports(step.problem())), "mish in the epilogue");
}

}  // namespace
}  // namespace tenon
