// Which of a tactic's configurations are worth making, after those that were timed.
#include "select/stages.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <mutex>

#include "ir/text.h"
#include "made_up_device.h"
#include "ops/table.h"
#include "select/select.h"

namespace tenon {
namespace {

constexpr double kFailed = std::numeric_limits<double>::infinity();

size_t stage_after(std::initializer_list<double> tried, double best) {
  return next_stage({tried.begin(), tried.size()}, best, true);
}

TEST(StagesTest, FewAreTriedFirstAndOneOfTacticsThatSeldomWin) {
  EXPECT_EQ(stage_after({}, kFailed), kFirstStage);
  EXPECT_EQ(next_stage({}, kFailed, false), 1u);
}

TEST(StagesTest, OneStageIsTriedAtTheEndsOfARange) {
  const double all[] = {1.0, 1.0, 1.0, 1.0}, failed[] = {kFailed, kFailed};
  EXPECT_GT(stage_at_end(RangeEnd::kSmaller), stage_at_end(RangeEnd::kLarger));
  EXPECT_EQ(next_stage_at_end(all), 0u);
  EXPECT_GT(next_stage_at_end(failed), 0u);
  EXPECT_EQ(tried_in_any_case({.staged = true}), kFirstStage);
  EXPECT_EQ(tried_in_any_case({.staged_in_ranges = true}), kFirstStage);
  EXPECT_EQ(tried_in_any_case({}), SIZE_MAX);
}

TEST(StagesTest, SomeTacticsHaveStagesInRangesAlone) {
  for (const bool many_shapes : {false, true}) {
    EXPECT_EQ(is_staged({.staged_in_ranges = true}, many_shapes), many_shapes);
    EXPECT_TRUE(is_staged({.staged = true}, many_shapes));
    EXPECT_FALSE(is_staged({}, many_shapes));
  }
}

TEST(StagesTest, TacticsThatAreFarFromTheBestEnd) {
  EXPECT_GT(stage_after({1.0}, 1.0), 0u);
  EXPECT_GT(stage_after({1.1}, 1.0), 0u);
  EXPECT_EQ(stage_after({1.3}, 1.0), 0u);
  EXPECT_EQ(stage_after({1.4, 1.3, 1.5}, 1.0), 0u);
}

TEST(StagesTest, StagesThatAreFarFromTheirTacticsBestAreTheLast) {
  EXPECT_GT(stage_after({1.0, 1.2, 1.04}, 1.0), 0u);
  EXPECT_GT(stage_after({1.2, 1.04, 1.0}, 1.0), 0u);
  EXPECT_EQ(stage_after({1.0, 1.2, 1.08}, 1.0), 0u);
}

TEST(StagesTest, AfterFailuresOthersAreTried) {
  EXPECT_GT(stage_after({kFailed}, 1.0), 0u);
  EXPECT_GT(stage_after({kFailed}, kFailed), 0u);
  EXPECT_EQ(stage_after({kFailed, 2.0, 2.0}, 1.0), 0u);
}

TEST(StagesTest, EnginesAreWhatConfigurationsOfALibraryName) {
  EXPECT_EQ(engine_of("engine=7,k24=26"), "engine=7");
  EXPECT_EQ(engine_of("fold=2,engine=4,k24=26"), "fold=2,engine=4");
  EXPECT_EQ(engine_of("engine=7"), "engine=7");
  EXPECT_EQ(engine_of("m=64,n=32,splits=1"), "");
}

/// A device that keeps account of which kernels were made, by several threads.
class Maker : public MadeUpDevice {
 public:
  std::mutex mutex;
  std::vector<std::string> made;
};

class Made final : public Kernel {
 public:
  Made(Maker& device, std::string launches) : device_(device), launches_(std::move(launches)) {}
  Status run(const LaunchArguments&) const override {
    device_.launches.insert(device_.launches.end(), launches_.begin(), launches_.end());
    return {};
  }

 private:
  Maker& device_;
  std::string launches_;
};

/// Of a tactic whose last configuration takes kLast times as long.
template <char kName, int kLast = 1> Tactic row(std::string_view name) {
  Tactic tactic = cpu_tactics().back();
  tactic.name = name;
  tactic.device = DeviceKind::kCuda;
  tactic.traits = {.staged = true};
  tactic.configs = [](const Problem&) { return std::vector<std::string>{"n=3", "n=2", "n=1"}; };
  tactic.create = [](const Problem& problem,
                     std::string_view config) -> Result<std::unique_ptr<Kernel>> {
    auto& device = static_cast<Maker&>(*problem.device);
    const std::lock_guard lock(device.mutex);
    device.made.push_back(kName + std::string(config));
    const size_t launches = config == "n=1" ? kLast : 1;
    return std::unique_ptr<Kernel>(std::make_unique<Made>(device, std::string(launches, kName)));
  };
  return tactic;
}

class StagedSelectionTest : public testing::Test {
 protected:
  StagedSelectionTest() { rows_[1].traits.seldom_beside = rows_[0].name; }

  /// The kernels made for a layer, in alphabetical order.
  std::vector<std::string> made_for(const SelectOptions& options) {
    device_->made.clear();
    auto graph = parse_graph("graph \"\" (%0 \"x\": f32[8]) { %1 = exp(%0) : f32[8] return %1}");
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    const Backend backend{.device = device_, .tactics = rows_};
    EXPECT_TRUE(select_tactics(**graph, backend, {}, options, cache_).ok());
    taken_ = (*graph)->nodes()[0]->tactic;
    std::sort(device_->made.begin(), device_->made.end());
    return device_->made;
  }

  std::shared_ptr<Maker> device_ = std::make_shared<Maker>();
  std::vector<Tactic> rows_ = {row<'a'>("cuda.conv.hopper"), row<'z'>("cuda.conv.matrix"),
                               cpu_tactics().back()};
  TimingCache cache_;
  std::string taken_;
};

using Names = std::vector<std::string>;

TEST_F(StagedSelectionTest, OfASlowTacticOnlyTheMostPromisingIsMade) {
  EXPECT_EQ(made_for({}), Names({"an=1", "an=2", "an=3", "zn=3"}));
  EXPECT_TRUE(taken_.starts_with("cuda.conv.hopper")) << taken_;
}

TEST_F(StagedSelectionTest, WithItsCacheABuildMakesNothingAndTakesTheSame) {
  made_for({});
  const std::string taken = taken_;
  EXPECT_EQ(made_for({}), Names());
  EXPECT_EQ(taken_, taken);
}

TEST_F(StagedSelectionTest, WithItsCacheABuildKnowsTheBestOfATacticThatAlsoHasSlowOnes) {
  rows_[0] = row<'a', 4>("cuda.conv.hopper");
  made_for({});
  EXPECT_TRUE(taken_.starts_with("cuda.conv.hopper")) << taken_;
  const std::string taken = taken_;
  EXPECT_EQ(made_for({}), Names());
  EXPECT_EQ(taken_, taken);
}

TEST_F(StagedSelectionTest, WithoutACacheTheSameAreMade) {
  made_for({});
  EXPECT_EQ(made_for({.use_cache = false}), Names({"an=1", "an=2", "an=3", "zn=3"}));
}

TEST_F(StagedSelectionTest, ThoroughBuildsMakeAll) {
  EXPECT_EQ(made_for({.level = 4}).size(), 6u);
}

/// Own tactics propose other configurations where one of theirs is offered; libraries that plan
/// nothing for each shape always do.
TEST(StagesTest, ProposalsComeBehindWhatIsOffered) {
  Tactic tactic = cpu_tactics().back();
  tactic.name = "own";
  tactic.traits = {};
  tactic.configs = [](const Problem&) { return std::vector<std::string>{"1", "2", "3"}; };
  const std::vector<std::string> offered = {"own{9}", "other{2}"};
  using Configs = std::vector<std::string>;
  EXPECT_EQ(configs_among(offered, tactic, {}), (Configs{"9", "1"}));
  EXPECT_EQ(configs_among(offered, tactic, {}, kNoProposals), (Configs{"9"}));
  EXPECT_EQ(configs_among(offered, tactic, {}, {2}), (Configs{"9", "1", "2"}));
  EXPECT_EQ(configs_among(offered, tactic, {}, {.most = 2, .unless_there = true}),
            (Configs{"9", "1", "2"}));
  const std::vector<std::string> first = {"own{9}", "own{1}"};
  EXPECT_EQ(configs_among(first, tactic, {}, {2}), (Configs{"9", "1", "2"}));
  EXPECT_EQ(configs_among(first, tactic, {}, {.most = 2, .unless_there = true}),
            (Configs{"9", "1"}));
  tactic.name = "other";
  EXPECT_EQ(configs_among(offered, tactic, {}), (Configs{"2"}));
  EXPECT_EQ(configs_among(offered, tactic, {}, {2}), (Configs{"2", "1"}));
  tactic.traits.seldom_beside = "own";
  EXPECT_EQ(configs_among(offered, tactic, {}, {2}), (Configs{"2"}));
  tactic.traits.seldom_beside = {};
  tactic.name = "absent";
  EXPECT_TRUE(configs_among(offered, tactic, {}, {2}).empty());
  tactic.traits.origin = TacticOrigin::kCublasLt;
  EXPECT_TRUE(configs_among(offered, tactic, {}).empty());
  EXPECT_EQ(configs_among(offered, tactic, {}, {2}), (Configs{"1", "2"}));
  tactic.traits.planned_each = true;
  EXPECT_TRUE(configs_among(offered, tactic, {}, {2}).empty());
}

}  // namespace
}  // namespace tenon
