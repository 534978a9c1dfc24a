// Ranges for profilers of a GPU: a range a layer, around its launches.
#include "one_kernel.h"

namespace tenon {
namespace {

/// Notes ranges and launches in order.
class Listening final : public MadeUpDevice {
 public:
  void push_range(const char* name) override { seen.push_back(std::string("{") + name); }
  void pop_range() override { seen.emplace_back("}"); }
  std::vector<std::string> seen;
};

class Noted final : public Kernel {
 public:
  explicit Noted(Listening& device) : device_(device) {}
  Status run(const LaunchArguments&) const override {
    device_.seen.emplace_back("launch");
    return {};
  }

 private:
  Listening& device_;
};

/// The ranges of a run of two layers.
std::vector<std::string> seen(bool ranges, bool detailed) {
  const auto device = std::make_shared<Listening>();
  RangeTexts texts;
  if (ranges) texts = [=](const Program& program) { return program.range_texts(detailed); };
  run_with_one_kernel<Noted>(device, "cuda.noted", R"(graph "" (%0 "x": f32[8]) {
    %1 = exp "first"(%0) : f32[8]
    %2 = add "second"(%0, %1) : f32[8]
    return %2})",
                             texts);
  return device->seen;
}

TEST(Ranges, HaveTheNamesOfLayers) {
  EXPECT_EQ(seen(true, false),
            (std::vector<std::string>{"{first", "launch", "}", "{second", "launch", "}"}));
}

TEST(Ranges, OfDetailTellOfOperandsAndKernels) {
  const auto all = seen(true, true);
  ASSERT_EQ(all.size(), 6u);
  EXPECT_EQ(all[3], "{second, add, in: f32[8] f32[8], out: f32[8], cuda.noted");
}

TEST(Ranges, AreLeftOutWhereNoneAreWanted) {
  EXPECT_EQ(seen(false, false), (std::vector<std::string>{"launch", "launch"}));
}

}  // namespace
}  // namespace tenon
