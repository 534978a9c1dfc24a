// Which steps stay in registers.
#include "kernels/epilogue/epilogue.h"

#include <gtest/gtest.h>

namespace tenon::cpu {
namespace {

RegisterActivation activation_of(const EpilogueStep& step) {
  return register_epilogue({{step}}, ElementType::f32).activation;
}

TEST(RegisterEpilogue, ActivationsOfTheRunningValueStayInRegisters) {
  EpilogueStep relu{.function = PointwiseFunction::k_relu};
  EXPECT_EQ(activation_of(relu), RegisterActivation::clamp);
  relu.from = 1;  // Of an earlier value.
  EXPECT_EQ(activation_of(relu), RegisterActivation::none);
}

}  // namespace
}  // namespace tenon::cpu
