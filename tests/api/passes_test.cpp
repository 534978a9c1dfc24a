// Control of the passes, as programs use it (tenon/passes.h).
#include <tenon/passes.h>

#include "harness.h"

namespace api_test {
namespace {

/// relu(x w), then relu(that w): products `first` and `second`.
struct TwoProducts : Session {
  TwoProducts() {
    ITensor* x = input("x", DataType::kFLOAT, {2, 2});
    for (const char* name : {"first", "second"}) {
      auto* product = network->addMatrixMultiply(
          *x, MatrixOperation::kNONE, *constant({2, 2}, {1, -2, 3, 0.5F}), MatrixOperation::kNONE);
      product->setName(name);
      auto* relu = network->addActivation(*product->getOutput(0), ActivationType::kRELU);
      relu->setName((std::string(name) + "_relu").c_str());
      x = relu->getOutput(0);
    }
    output(x, "y");
  }

  std::vector<std::string> applied() const {
    std::vector<std::string> texts;
    for (int32_t i = 0; i < tenon::getNbAppliedPasses(*engine); ++i)
      texts.emplace_back(tenon::getAppliedPass(*engine, i));
    return texts;
  }
  bool has_applied(const std::string& text) const {
    for (const std::string& one : applied())
      if (one == text) return true;
    return false;
  }
};

TEST(Passes, AreListed) {
  const std::string list = tenon::passList();
  EXPECT_NE(list.find("fuse_epilogue: joins"), std::string::npos);
}

TEST(Passes, WhatWasAppliedIsInTheEngine) {
  TwoProducts s;
  ASSERT_TRUE(s.build());
  EXPECT_TRUE(s.has_applied("fuse_epilogue: first + first_relu"));
  EXPECT_TRUE(s.has_applied("fuse_epilogue: second + second_relu"));
  EXPECT_EQ(tenon::getAppliedPass(*s.engine, -1), nullptr);
  EXPECT_EQ(tenon::getAppliedPass(*s.engine, 1000), nullptr);
}

TEST(Passes, AreLeftOut) {
  TwoProducts all, some;
  EXPECT_TRUE(tenon::disablePasses(*all.config, "fuse_epilogue,fuse_pointwise", all.log));
  ASSERT_TRUE(all.build());
  EXPECT_FALSE(all.has_applied("fuse_epilogue: first + first_relu"));
  EXPECT_TRUE(tenon::disablePasses(*some.config, "fuse_epilogue:sec*", some.log));
  ASSERT_TRUE(some.build());
  EXPECT_TRUE(some.has_applied("fuse_epilogue: first + first_relu"));
  EXPECT_FALSE(some.has_applied("fuse_epilogue: second + second_relu"));
}

TEST(Passes, NodesStayUnfused) {
  TwoProducts s;
  EXPECT_TRUE(tenon::keepUnfused(*s.config, "fir*"));
  ASSERT_TRUE(s.build());
  EXPECT_FALSE(s.has_applied("fuse_epilogue: first + first_relu"));
  EXPECT_TRUE(s.has_applied("fuse_epilogue: second + second_relu"));
}

TEST(Passes, APatternLeavesOutAllThatMatch) {
  TwoProducts s;
  EXPECT_TRUE(tenon::disablePasses(*s.config, "fuse_*:fir*", s.log));
  ASSERT_TRUE(s.build());
  EXPECT_FALSE(s.has_applied("fuse_epilogue: first + first_relu"));
  EXPECT_TRUE(s.has_applied("fuse_epilogue: second + second_relu"));
  TwoProducts none;
  EXPECT_TRUE(tenon::disablePasses(*none.config, "*", none.log));
  ASSERT_TRUE(none.build());
  EXPECT_EQ(tenon::getNbAppliedPasses(*none.engine), 0);
}

TEST(Passes, LevelsOfABuildAreShown) {
  TwoProducts s;
  std::map<std::string, std::string> seen;
  const auto keep = [](const char* level, const char* text, void* levels) {
    (*static_cast<std::map<std::string, std::string>*>(levels))[level] = text;
  };
  EXPECT_TRUE(
      tenon::watchLevels(*s.config, "network,graph:after-fuse_*,tactics", keep, &seen, s.log));
  ASSERT_TRUE(s.build());
  EXPECT_NE(seen["network"].find("matmul \"first\""), std::string::npos) << seen["network"];
  EXPECT_EQ(seen["graph:after-fuse_stem"].find("first + first_relu"), std::string::npos);
  EXPECT_NE(seen["graph:after-fuse_epilogue"].find("first + first_relu"), std::string::npos);
  EXPECT_NE(seen["tactics"].find("@cpu."), std::string::npos);
  EXPECT_FALSE(seen.contains("graph") || seen.contains("graph:after-simplify"));
  seen.clear();
  EXPECT_TRUE(tenon::watchLevels(*s.config, nullptr, nullptr, nullptr, s.log));
  ASSERT_TRUE(s.build());
  EXPECT_TRUE(seen.empty());
  EXPECT_FALSE(tenon::watchLevels(*s.config, "graph:after-none", keep, &seen, s.log));
  EXPECT_TRUE(s.log.complained("a build has no level 'graph:after-none'"));
}

TEST(Passes, ANameThatIsNoneIsRefused) {
  TwoProducts s;
  EXPECT_FALSE(tenon::disablePasses(*s.config, "fuse_all", s.log));
  EXPECT_TRUE(s.log.complained("there is no pass 'fuse_all'; similar are fuse_reductions"));
  EXPECT_FALSE(tenon::disablePasses(*s.config, nullptr, s.log));
}

}  // namespace
}  // namespace api_test
