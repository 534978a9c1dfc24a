// Texts of a plugin's formats and tactic.
#include "kernels/plugin/choice.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(PluginChoice, TextsTellFormatsThatAreKeptAndTheTactic) {
  constexpr std::string_view kText = "formats=0:5k:1,tactic=7";
  const std::vector<nvinfer1::DataType> types(3, nvinfer1::DataType::kHALF);
  const auto choice = choice_of(types, kText);
  ASSERT_TRUE(choice.ok()) << choice.error().message;
  EXPECT_EQ(choice->combination[1].format, static_cast<nvinfer1::TensorFormat>(5));
  EXPECT_FALSE(choice->combination[0].kept);
  EXPECT_TRUE(choice->combination[1].kept);
  EXPECT_FALSE(choice->combination[2].kept);
  EXPECT_EQ(choice->tactic, 7);
  EXPECT_EQ(choice->text(), kText);
}

}  // namespace
}  // namespace tenon
