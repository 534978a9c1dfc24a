// The text of nodes without a layer reads back, whatever their names hold.
#include "select/gone_nodes.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

TEST(GoneNodes, ReadBack) {
  const std::vector<GoneNode> nodes = {{"shape", "fold_constants", true},
                                       {"given", "", true},
                                       {"a name, with\nlines\\n and spaces", "simplify", false},
                                       {"", "simplify", false}};
  const std::string text = gone_text(nodes);
  EXPECT_EQ(parse_gone(text), nodes) << text;
}

TEST(GoneNodes, OtherLinesAreLeftOut) {
  EXPECT_TRUE(parse_gone("").empty());
  EXPECT_TRUE(parse_gone("\nnothing of it\nconstant").empty());
}

}  // namespace
}  // namespace tenon
