// Mistakes of kernels and passes are planted one at a time; the self-check has to find each and to
// name it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "check/compile_checked.h"
#include "memory_logger.h"
#include "networks.h"
#include "planted.h"

namespace tenon {
namespace {

enum Network { kImages, kQuantizedImages, kTokens };
constexpr DataType kF32 = DataType::kFloat32, kBf16 = DataType::kBFloat16;

struct PlantIn {
  Network network;
  Plant plant;
};

#define WRONG_KERNEL(network, precision, op, what) \
  {                                                \
    network, {                                     \
      op ", " #what, precision, op, damage::what   \
    }                                              \
  }
#define WRONG_PASS(network, precision, what)       \
  {                                                \
    network, {                                     \
#what, precision, "", nullptr, mistake::what \
    }                                              \
  }

const PlantIn kPlants[] = {
    WRONG_KERNEL(kImages, kF32, "conv", one_in_ten_thousand),
    WRONG_KERNEL(kImages, kF32, "conv", last_tile_is_zero),
    WRONG_KERNEL(kImages, kF32, "conv", tile_of_its_neighbour),
    WRONG_KERNEL(kImages, kF32, "conv", one_percent_too_large),
    WRONG_KERNEL(kImages, kF32, "conv", shifted_by_one),
    WRONG_KERNEL(kImages, kF32, "conv", bias_of_the_next_channel),
    WRONG_KERNEL(kImages, kF32, "conv", one_not_a_number),
    WRONG_KERNEL(kImages, kF32, "pool", one_element),
    WRONG_KERNEL(kImages, kF32, "pool", not_written_at_the_end),
    WRONG_KERNEL(kImages, kF32, "softmax", one_percent_too_large),
    WRONG_KERNEL(kImages, kF32, "matmul", last_tile_is_zero),
    WRONG_KERNEL(kImages, kBf16, "conv", one_in_ten_thousand),
    WRONG_KERNEL(kImages, kBf16, "conv", one_percent_too_large),
    WRONG_KERNEL(kImages, kBf16, "conv", tile_of_its_neighbour),
    WRONG_KERNEL(kImages, kBf16, "conv", large_ones_cut),
    WRONG_KERNEL(kImages, kBf16, "pool", one_element),
    WRONG_KERNEL(kImages, kBf16, "reduce", one_percent_too_large),
    WRONG_KERNEL(kQuantizedImages, kF32, "conv", two_steps_off),
    WRONG_KERNEL(kQuantizedImages, kF32, "conv", last_tile_is_zero),
    WRONG_KERNEL(kQuantizedImages, kF32, "conv", shifted_by_one),
    WRONG_KERNEL(kTokens, kF32, "matmul", one_in_ten_thousand),
    WRONG_KERNEL(kTokens, kF32, "matmul", bias_of_the_next_channel),
    WRONG_KERNEL(kTokens, kF32, "normalization", one_element),
    WRONG_KERNEL(kTokens, kF32, "attention", negative_ones_lost),
    WRONG_KERNEL(kTokens, kF32, "attention", one_element),
    WRONG_KERNEL(kTokens, kBf16, "matmul", one_in_ten_thousand),
    WRONG_KERNEL(kTokens, kBf16, "matmul", one_percent_too_large),
    WRONG_KERNEL(kTokens, kBf16, "normalization", shifted_by_one),
    WRONG_KERNEL(kTokens, kBf16, "attention", not_written_at_the_end),
    WRONG_PASS(kImages, kF32, bias_dropped),
    WRONG_PASS(kImages, kF32, one_weight_wrong),
    WRONG_PASS(kImages, kF32, weights_two_percent_larger),
    WRONG_PASS(kImages, kF32, channels_of_weights_swapped),
    WRONG_PASS(kImages, kF32, pads_moved),
    WRONG_PASS(kImages, kF32, maximum_for_mean),
    WRONG_PASS(kImages, kF32, stale_residual),
    WRONG_PASS(kImages, kF32, activation_dropped),
    WRONG_PASS(kImages, kF32, other_softmax_axis),
    WRONG_PASS(kImages, kF32, parts_swapped),
    WRONG_PASS(kImages, kBf16, bias_dropped),
    WRONG_PASS(kImages, kBf16, one_weight_wrong),
    WRONG_PASS(kImages, kBf16, weights_two_percent_larger),
    WRONG_PASS(kImages, kBf16, stale_residual),
    WRONG_PASS(kQuantizedImages, kF32, quantized_with_other_scale),
    WRONG_PASS(kQuantizedImages, kF32, bias_dropped),
    WRONG_PASS(kQuantizedImages, kF32, pads_moved),
    WRONG_PASS(kTokens, kF32, other_epsilon),
    WRONG_PASS(kTokens, kF32, other_scale_of_attention),
    WRONG_PASS(kTokens, kF32, mask_dropped),
    WRONG_PASS(kTokens, kF32, axes_swapped),
    WRONG_PASS(kTokens, kF32, residual_twice),
    WRONG_PASS(kTokens, kBf16, other_epsilon),
    WRONG_PASS(kTokens, kBf16, mask_dropped),
    WRONG_PASS(kTokens, kBf16, axes_swapped),
};

/// Of those, that may be missed.
constexpr int kMayBeMissed = static_cast<int>(std::size(kPlants)) / 20;

std::unique_ptr<Graph> network_of(Network which) {
  return which == kTokens ? token_network() : image_network(which == kQuantizedImages);
}

TEST(PlantedErrors, AreFoundAndNamed) {
  int planted = 0, found = 0, named = 0;
  for (const auto& [network, p] : kPlants) {
    const Outcome outcome = outcome_of(p, network_of(network));
    planted += outcome.planted, found += outcome.found, named += outcome.named;
    if (outcome.problem() == nullptr) continue;
    fmt::print("{} ({}): {}: {}\n", p.name, name_of(p.precision), outcome.problem(),
               outcome.says.substr(0, 600));
  }
  fmt::print("{} planted, {} found, {} named\n", planted, found, named);
  EXPECT_EQ(planted, std::size(kPlants));
  EXPECT_GE(named, planted - kMayBeMissed);
}

TEST(PlantedErrors, NothingIsFoundWhereNothingIsPlanted) {
  for (const Network network : {kImages, kQuantizedImages, kTokens})
    for (const DataType precision : {kF32, kBf16}) {
      CompileRequest request = planted_request(network_of(network), precision);
      MemoryLogger logger;
      TimingCache cache;
      const auto plan = compile_checked(std::move(request), cache, {.regions = true}, logger);
      ASSERT_TRUE(plan.ok()) << plan.error().message;
      EXPECT_EQ(plan->settings.at("self_check"), "passed") << network << name_of(precision);
      EXPECT_EQ(logger.text, "");
    }
}

}  // namespace
}  // namespace tenon
