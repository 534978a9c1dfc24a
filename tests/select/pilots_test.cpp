// Libraries that plan each problem anew: for which problems of an operation their kernels are made.
#include "select/pilots.h"

#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "ir/text.h"
#include "made_up_device.h"
#include "ops/ops.h"
#include "select/select.h"

namespace tenon {
namespace {

constexpr char kThree[] =
    "graph \"\" (%0 \"a\": f32[1,8], %1 \"b\": f32[1,32], %2 \"c\": f32[1,16], %3 \"d\": f32[1,8]) "
    "{"
    " %4 = exp(%0) : f32[1,8] %5 = exp(%1) : f32[1,32] %6 = exp(%2) : f32[1,16] %7 = tanh(%3) : "
    "f32[1,8]"
    " return %4, %5, %6, %7}";

/// A device that keeps account of the kernels of the library, by operator and extent.
class Account : public MadeUpDevice {
 public:
  std::mutex mutex;
  std::set<std::string> made;
  std::set<std::string> won_by_library;
};

std::string name_of(const Problem& problem) {
  const auto function = problem.operation.node().as<Pointwise>()->function;
  return fmt::format("{}{}", function == PointwiseFunction::k_exp ? "exp" : "tanh",
                     problem.output().extents[1]);
}

class CountedLaunches final : public Kernel {
 public:
  CountedLaunches(Account& device, size_t count) : device_(device), count_(count) {}
  Status run(const LaunchArguments&) const override {
    device_.launches.insert(device_.launches.end(), count_, 'a');
    return {};
  }

 private:
  Account& device_;
  size_t count_;
};

/// Our own takes two launches, the library one where it wins, else three.
template <bool kIsLibrary> Tactic row(std::string_view name) {
  Tactic tactic = made_up_tactic(name);
  if (kIsLibrary) tactic.traits = {.origin = TacticOrigin::kCudnn, .planned_each = true};
  tactic.configs = single_config;
  tactic.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    auto& device = static_cast<Account&>(*problem.device);
    const std::lock_guard lock(device.mutex);
    const std::string problem_name = name_of(problem);
    if (kIsLibrary) device.made.insert(problem_name);
    const bool wins = device.won_by_library.contains(problem_name);
    return std::unique_ptr<Kernel>(std::make_unique<CountedLaunches>(device, !kIsLibrary ? 2
                                                                             : wins      ? 1
                                                                                         : 3));
  };
  return tactic;
}

class PilotsTest : public testing::Test {
 protected:
  using Names = std::set<std::string>;
  /// The problems for which the library's kernels are made.
  Names made_for(const SelectOptions& options = {}) {
    device_->made.clear();
    auto graph = parse_graph(kThree);
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    const Backend backend{.device = device_, .tactics = rows_};
    EXPECT_TRUE(select_tactics(**graph, backend, {}, options, cache_).ok());
    taken_.clear();
    for (const auto& node : (*graph)->nodes()) taken_.push_back(node->tactic);
    return device_->made;
  }

  std::shared_ptr<Account> device_ = std::make_shared<Account>();
  std::vector<Tactic> rows_ = {row<true>("cuda.library"), row<false>("cuda.own"),
                               cpu_tactics().back()};
  TimingCache cache_;
  std::vector<std::string> taken_;
};

TEST_F(PilotsTest, OfEachOperationTheLongestIsTried) {
  EXPECT_EQ(made_for({.level = 3}), (Names{"exp32", "tanh8"}));
  EXPECT_EQ(taken_, std::vector<std::string>(4, "cuda.own"));
}

TEST_F(PilotsTest, OthersAreTriedWhereTheLibraryWonThere) {
  device_->won_by_library = {"exp32", "exp8"};
  EXPECT_EQ(made_for({.level = 3}), (Names{"exp8", "exp16", "exp32", "tanh8"}));
  EXPECT_EQ(taken_,
            (std::vector<std::string>{"cuda.library", "cuda.library", "cuda.own", "cuda.own"}));
}

TEST_F(PilotsTest, WithItsCacheABuildTakesTheSame) {
  device_->won_by_library = {"tanh8", "exp8"};
  made_for();
  const std::vector<std::string> taken = taken_;
  EXPECT_EQ(made_for(), Names());
  EXPECT_EQ(taken_, taken);
}

TEST_F(PilotsTest, ThoroughBuildsTryAll) {
  EXPECT_EQ(made_for({.level = 4}).size(), 4u);
}

TEST_F(PilotsTest, TacticsThatSeldomWinBesideAnotherAreTriedLikewise) {
  rows_[0].traits = {.seldom_beside = "cuda.own"};
  EXPECT_EQ(made_for(), (Names{"exp32", "tanh8"}));
  rows_[0].traits = {.seldom_beside = "cuda.other"};
  cache_ = {};
  EXPECT_EQ(made_for().size(), 4u) << "that one does not take these problems";
}

TEST_F(PilotsTest, WhereNothingElseServesAllAreMade) {
  rows_.erase(rows_.begin() + 1);
  made_for();
  EXPECT_EQ(taken_, std::vector<std::string>(4, "cuda.library"));
}

}  // namespace
}  // namespace tenon
