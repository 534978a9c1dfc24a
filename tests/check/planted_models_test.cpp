// Mistakes planted into real models, one at a time: TENON_TEST_MODELS names a folder of ONNX files.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "onnx/importer.h"
#include "ops/ops.h"
#include "planted.h"

namespace tenon {
namespace {

constexpr DataType kWide = DataType::kFloat32, kNarrow = DataType::kBFloat16;

#define KERNEL(op, what) \
  { op ", " #what, kWide, op, damage::what, nullptr }
#define PASS(what) \
  { #what, kWide, "", nullptr, mistake::what }

/// Where there is no place for one in a model, the next one is tried.
const Plant kMistakes[] = {
    KERNEL("conv", one_in_ten_thousand),
    PASS(bias_dropped),
    KERNEL("matmul", last_tile_is_zero),
    PASS(axes_swapped),
    KERNEL("conv", tile_of_its_neighbour),
    PASS(stale_residual),
    KERNEL("normalization", one_element),
    PASS(late_weight_wrong),
    KERNEL("matmul", one_in_ten_thousand),
    PASS(quantized_with_other_scale),
    KERNEL("pool", not_written_at_the_end),
    PASS(transposed_otherwise),
    KERNEL("attention", shifted_by_one),
    PASS(pads_moved),
    KERNEL("conv", bias_of_the_next_channel),
    PASS(residual_twice),
    KERNEL("matmul", one_not_a_number),
    PASS(other_epsilon),
    KERNEL("conv", last_terms_of_one_sum_lost),
    PASS(late_bias_dropped),
    KERNEL("matmul", channel_of_its_neighbour),
    PASS(weights_two_percent_larger),
    KERNEL("pool", every_hundredth_negated),
    PASS(maximum_for_mean),
    KERNEL("reduce", one_percent_too_large),
    PASS(other_scale_of_attention),
    KERNEL("conv", every_hundredth_negated),
    PASS(activation_dropped),
    KERNEL("attention", negative_ones_lost),
    KERNEL("conv", channel_of_its_neighbour),
    KERNEL("conv", one_not_a_number),
    PASS(channels_of_weights_swapped),
    KERNEL("pool", one_element),
    PASS(one_weight_wrong),
    KERNEL("matmul", every_hundredth_negated),
    PASS(parts_swapped),
    KERNEL("conv", last_tile_is_zero),
    PASS(other_softmax_axis),
    KERNEL("matmul", last_terms_of_one_sum_lost),
    PASS(pool_moved),
};

std::vector<std::string> models() {
  const char* folder = std::getenv("TENON_TEST_MODELS");
  std::vector<std::string> files;
  if (folder == nullptr) return files;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".onnx") files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

/// Each mistake in the first model from `turn` on that has a place for it.
Outcome plant_somewhere(const Plant& plant, const std::vector<std::string>& files, size_t turn,
                        std::string& file) {
  Outcome outcome;
  for (size_t i = 0; i < files.size() && !outcome.planted; ++i) {
    file = files[(turn + i) % files.size()];
    ImportRequest request;
    request.path = file;
    auto model = import_model(request);
    EXPECT_TRUE(model.ok()) << file;
    if (model.ok()) outcome = outcome_of(plant, std::move(model->graph));
  }
  return outcome;
}

class PlantedInModels : public ::testing::TestWithParam<DataType> {};

TEST_P(PlantedInModels, AreFoundAndNamed) {
  const std::vector<std::string> files = models();
  if (files.empty()) GTEST_SKIP() << "TENON_TEST_MODELS names no folder of models";
  int planted = 0, found = 0, named = 0;
  size_t turn = 0;
  for (Plant plant : kMistakes) {
    plant.precision = GetParam();
    std::string file;
    const Outcome outcome = plant_somewhere(plant, files, turn++, file);
    planted += outcome.planted, found += outcome.found, named += outcome.named;
    if (outcome.problem() == nullptr) continue;
    fmt::print("{} ({}) in {}: {} (moves outputs by {:.2g}): {}\n", plant.name,
               name_of(plant.precision), file, outcome.problem(), outcome.effect,
               outcome.says.substr(0, 600));
    (void)std::fflush(stdout);
  }
  fmt::print("{} of {} planted, {} found, {} named\n", planted, std::size(kMistakes), found, named);
  EXPECT_GT(planted, 0);
  EXPECT_GE(named * 40, planted * 38);
}

INSTANTIATE_TEST_SUITE_P(Precisions, PlantedInModels, ::testing::Values(kWide, kNarrow),
                         [](const auto& info) { return std::string(name_of(info.param)); });

}  // namespace
}  // namespace tenon
