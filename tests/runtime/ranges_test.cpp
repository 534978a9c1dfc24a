// What profilers of a GPU see: a range a layer, around its launches.
#include <gtest/gtest.h>

#include "../select/made_up_device.h"
#include "ir/text.h"
#include "kernels/backend.h"
#include "kernels/constant_store.h"
#include "ops/structure.h"
#include "runtime/program.h"

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

/// What a run of two layers shows.
std::vector<std::string> seen(bool ranges, bool detailed) {
  const auto device = std::make_shared<Listening>();
  Tactic row = cpu_tactics().back();
  row.name = "cuda.noted", row.device = DeviceKind::kCuda;
  row.supports = [](const Problem&) { return Support{}; };
  row.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(
        std::make_unique<Noted>(static_cast<Listening&>(*problem.device)));
  };
  const Backend backend{.device = device, .tactics = {&row, 1}};
  auto graph = parse_graph(R"(graph "" (%0 "x": f32[8]) {
    %1 = exp "first"(%0) : f32[8]
    %2 = add "second"(%0, %1) : f32[8]
    return %2})");
  EXPECT_TRUE(graph.ok()) << graph.error().message;
  for (const auto& node : (*graph)->nodes()) node->tactic = "cuda.noted";
  auto concrete = ConcreteGraph::create(**graph, {});
  EXPECT_TRUE(concrete.ok());
  ConstantStore constants(*device);
  const auto program = Program::create(backend, constants, std::move(*concrete), 1);
  EXPECT_TRUE(program.ok()) << program.error().message;
  std::vector<float> memory(1024);
  void* const x = memory.data();
  void* const y = memory.data() + 512;
  std::vector<void*> pointers;
  const auto texts = ranges ? (*program)->range_texts(detailed) : std::vector<std::string>();
  EXPECT_TRUE((*program)->run(backend, {&x, 1}, {&y, 1}, x, {}, pointers, nullptr, texts).ok());
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
