// Mistakes of kernels and passes are planted one at a time; the self-check has to find each and to
// name it.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "check/compile_checked.h"
#include "damage.h"
#include "memory_logger.h"
#include "networks.h"
#include "ops/ops.h"

namespace tenon {
namespace {

enum Network { kImages, kQuantizedImages, kTokens };
constexpr DataType kF32 = DataType::kFloat32, kBf16 = DataType::kBFloat16;

/// A mistake: of the kernels of an operator, or of a pass.
struct Plant {
  const char* name;
  Network network;
  DataType precision;
  const char* op = nullptr;
  Damage damage = nullptr;
  Mistake mistake = nullptr;
};

#define WRONG_KERNEL(network, precision, op, what) \
  { op ", " #what, network, precision, op, damage::what, nullptr }
#define WRONG_PASS(network, precision, what) \
  { #what, network, precision, nullptr, nullptr, mistake::what }

constexpr Plant kPlants[] = {
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

Mistake planted_mistake = nullptr;
bool was_planted = false;

/// Left out as a whole or not at all: one mistake has one place.
bool plant(Graph& graph, PassContext& context) {
  for (const std::string& entry : context.options().disabled)
    if (entry.starts_with("planted")) return false;
  if (!planted_mistake(graph)) return false;
  was_planted = true;
  return true;
}

std::unique_ptr<Graph> network_of(Network which) {
  return which == kTokens ? token_network() : image_network(which == kQuantizedImages);
}

CompileRequest request_of(const Plant& plant) {
  CompileRequest request;
  request.graph = network_of(plant.network);
  request.backend = cpu_backend(2);
  request.passes = pass_options_for(*request.backend.device);
  if (plant.precision != kF32) request.passes.precision = plant.precision;
  request.select.threads = 2;
  request.select.average_runs = 1;
  request.select.level = 0;
  return request;
}

struct Outcome {
  bool planted = false, found = false, named = false;
  std::string says;
};

Outcome outcome_of(const Plant& p) {
  CompileRequest request = request_of(p);
  std::vector<Tactic> tactics;
  planted_mistake = p.mistake;
  was_planted = p.op != nullptr;
  if (p.op != nullptr) {
    tactics = damaged_tactics(p.op, p.damage);
    request.backend.tactics = tactics;
  } else {
    request.passes.extra.push_back({"planted", 1, "a mistake", plant});
  }
  MemoryLogger logger;
  TimingCache cache;
  const auto plan = compile_checked(std::move(request), cache, {}, logger);
  Outcome outcome;
  outcome.planted = was_planted;
  outcome.says = plan.ok() ? plan->settings.at("self_check") : plan.error().message;
  outcome.found = outcome.says != "passed" && !outcome.says.starts_with("not done");
  outcome.named =
      outcome.found && (p.op != nullptr ? logger.text.find("kernel cpu.") != std::string::npos
                                        : outcome.says.find("planted") != std::string::npos);
  outcome.says += "\n      " + logger.text;
  return outcome;
}

TEST(PlantedErrors, AreFoundAndNamed) {
  int planted = 0, found = 0, named = 0;
  for (const Plant& p : kPlants) {
    const Outcome outcome = outcome_of(p);
    planted += outcome.planted, found += outcome.found, named += outcome.named;
    if (outcome.planted && outcome.named) continue;
    fmt::print("{} ({}): {}: {}\n", p.name, name_of(p.precision),
               !outcome.planted ? "was not planted"
               : outcome.found  ? "found, not named"
                                : "missed",
               outcome.says.substr(0, 600));
  }
  fmt::print("{} planted, {} found, {} named\n", planted, found, named);
  EXPECT_EQ(planted, std::size(kPlants));
  EXPECT_GE(named, planted - kMayBeMissed);
}

TEST(PlantedErrors, NothingIsFoundWhereNothingIsPlanted) {
  for (const Network network : {kImages, kQuantizedImages, kTokens})
    for (const DataType precision : {kF32, kBf16}) {
      CompileRequest request = request_of({"", network, precision});
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
