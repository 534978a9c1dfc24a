// Layers' rivals are tried in the whole sequence: on a made-up device whose launches have the costs
// of a table, less beside others of their kind.
#include "select/sequence_tuning.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "ir/text.h"
#include "made_up_device.h"
#include "ops/math.h"
#include "ops/movement.h"
#include "ops/table.h"
#include "select/effort.h"

namespace tenon {
namespace {

/// Computes nothing, is only counted. `b` waits for the launch ahead by itself.
class Counted final : public Kernel {
 public:
  Counted(MadeUpDevice& device, char name) : device_(device), name_(name) {}
  Status run(const LaunchArguments& arguments) const override {
    device_.launches.push_back(name_);
    device_.lacked_operands |= std::ranges::count(arguments.inputs, nullptr) > 0;
    return {};
  }
  bool waits_for_previous() const override { return name_ == 'b'; }
  size_t workspace_bytes() const override { return name_ == 'a' ? 100 : 0; }

 private:
  MadeUpDevice& device_;
  char name_;
};

template <char kName> Tactic row(std::string_view name) {
  Tactic tactic = made_up_tactic(name);
  tactic.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    auto& device = static_cast<MadeUpDevice&>(*problem.device);
    return std::unique_ptr<Kernel>(std::make_unique<Counted>(device, kName));
  };
  return tactic;
}

/// Tactics of the only layers of `text`, all of one problem.
class SequenceTuningTest : public testing::Test {
 protected:
  std::string tactic_of(const std::string& text, const SelectOptions& options = {}) {
    auto graph = parse_graph(text);
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    const Backend backend{.device = device_, .tactics = rows_};
    EXPECT_TRUE(select_tactics(**graph, backend, {}, options, cache_).ok());
    const std::string first = (*graph)->nodes()[0]->tactic;
    for (const auto& node : (*graph)->nodes()) EXPECT_EQ(node->tactic, first);
    return first;
  }

  std::shared_ptr<MadeUpDevice> device_ = std::make_shared<MadeUpDevice>();
  std::vector<Tactic> rows_ = {row<'a'>("cuda.a"), row<'b'>("cuda.b"), cpu_tactics().back()};
  TimingCache cache_;
};

constexpr const char* kAlone = "graph \"\" (%0 \"x\": f32[8]) { %1 = exp(%0) : f32[8] return %1}";
constexpr const char* kThree =
    "graph \"\" (%0 \"x\": f32[8]) { %1 = exp(%0) : f32[8] %2 = exp(%1) : f32[8]"
    " %3 = exp(%2) : f32[8] return %3}";

TEST_F(SequenceTuningTest, LimitsOfWorkspacesHoldForKnownTimesAndForWhatIsNotTimed) {
  EXPECT_EQ(tactic_of(kAlone), "cuda.a");
  for (const size_t limit : {99, 100}) {
    const bool enough = limit == 100;
    EXPECT_EQ(tactic_of(kAlone, {.workspace_limit = limit}), enough ? "cuda.a" : "cuda.b");
    // Of one candidate; where it fails the next one is taken.
    EXPECT_EQ(tactic_of(kAlone, {.max_candidates = 1, .workspace_limit = limit}),
              enough ? "cuda.a" : "cuda.b");
  }
}

TEST_F(SequenceTuningTest, TheBestAloneIsTakenForOneLayer) {
  EXPECT_EQ(tactic_of(kAlone), "cuda.a");
}

TEST_F(SequenceTuningTest, TheBestInSequenceIsTakenForSeveral) {
  EXPECT_EQ(tactic_of(kThree), "cuda.b");
  EXPECT_EQ(device_->captured, Launches({'b', 'b', 'b'}));
}

/// How long a sequence is tells the one before it, about.
TEST_F(SequenceTuningTest, TheFirstSequenceAloneIsReplayedToSeeHowLongItIs) {
  EXPECT_EQ(tactic_of(kThree, {.warm = true}), "cuda.b");
  const int each = effort::sequence_replays(cost_of(device_->captured)) + effort::kFirstReplays;
  EXPECT_GT(device_->captures, 1);
  EXPECT_EQ(device_->replays, device_->captures * each + 2);
}

TEST_F(SequenceTuningTest, AsManyRivalsAreTriedAsAreAskedFor) {
  EXPECT_EQ(tactic_of(kThree, {.rivals = 0}), "cuda.a");
  cache_ = {};
  EXPECT_EQ(tactic_of(kThree, {.rivals = 1}), "cuda.b");
}

/// Rivals of one problem are tried once: more layers of it need more kernels, no more turns.
TEST_F(SequenceTuningTest, LayersOfOneProblemAreForeseenAsOne) {
  const auto foreseen = [&](const char* text) {
    BuildWatch watch;
    double seconds = 0;
    SelectOptions options{.watch = &watch};
    options.before_trials = [&] {
      seconds = watch.state().left[static_cast<size_t>(BuildWatch::Step::kSequence)];
    };
    cache_ = {};
    tactic_of(text, options);
    return seconds;
  };
  const double one = foreseen(kThree);
  const double three = foreseen(
      "graph \"\" (%0 \"x\": f32[8]) { %1 = exp(%0) : f32[8] %2 = tanh(%1) : f32[8]"
      " %3 = sigmoid(%2) : f32[8] return %3}");
  EXPECT_GT(one, 0);
  EXPECT_GT(three, one);
}

TEST_F(SequenceTuningTest, PartsOfConstantsAreThere) {
  Graph graph;
  const auto add_node = [&](auto op, const std::vector<Value*>& inputs) {
    Node* const node = graph.add_node(std::make_unique<decltype(op)>(op), inputs);
    EXPECT_TRUE(infer_node(*node).ok());
    return node->output();
  };
  Value* const constant = graph.add_constant(Tensor(DataType::kFloat32, {8}));
  Value* const x = graph.add_input("x", {DataType::kFloat32, {Dim(1), Dim(8)}});
  Flatten flatten;
  flatten.axis = 0;
  Value* const part = add_node(flatten, {constant});
  const Pointwise add(PointwiseFunction::k_add);
  graph.add_output(add_node(add, {add_node(add, {x, part}), part}));
  const Backend backend{.device = device_, .tactics = rows_};
  ASSERT_TRUE(select_tactics(graph, backend, {}, {}, cache_).ok());
  EXPECT_GT(device_->captures, 0);
  EXPECT_FALSE(device_->lacked_operands);
}

TEST_F(SequenceTuningTest, WhatTheCacheKnowsIsNotMeasuredAgain) {
  EXPECT_EQ(tactic_of(kThree), "cuda.b");
  const int captures = device_->captures;
  EXPECT_GT(captures, 0);
  EXPECT_EQ(tactic_of(kThree), "cuda.b");
  EXPECT_EQ(device_->captures, captures);
}

TEST_F(SequenceTuningTest, AGainWithinTheSpreadOfTimesIsNone) {
  device_->noise = 0.2;  // The middle half lies 0.6 ms apart; "b" gains 0.5 ms.
  EXPECT_EQ(tactic_of(kThree), "cuda.a");
  // Also from the cache, which keeps the spread.
  const int captures = device_->captures;
  EXPECT_EQ(tactic_of(kThree), "cuda.a");
  EXPECT_EQ(device_->captures, captures);
}

/// Plans are ready earlier without libraries, whose kernels are loaded while shapes wait.
TEST_F(SequenceTuningTest, WhereShapesVaryLibrariesMustGain) {
  rows_ = {row<'a'>("cuda.library"), row<'a'>("cuda.own"), cpu_tactics().back()};
  rows_[0].traits.origin = TacticOrigin::kCublasLt;
  EXPECT_EQ(tactic_of(kThree), "cuda.library");
  EXPECT_EQ(tactic_of(kThree, {.many_shapes = true}), "cuda.own");
  rows_[1] = row<'c'>("cuda.slower");  // By a tenth.
  EXPECT_EQ(tactic_of(kThree, {.many_shapes = true}), "cuda.library");
}

TEST_F(SequenceTuningTest, AnotherNumberOfMultiprocessorsIsAnotherMeasurement) {
  tactic_of(kAlone);
  const size_t entries = cache_.size();
  device_->set_multiprocessors(66);
  tactic_of(kAlone);
  EXPECT_EQ(cache_.size(), 2 * entries);
}

TEST_F(SequenceTuningTest, TimesThatMayNotBeMeasuredEndTheSelection) {
  auto graph = parse_graph(kThree);
  ASSERT_TRUE(graph.ok());
  const Backend backend{.device = device_, .tactics = rows_};
  const SelectOptions strict{.fail_on_cache_miss = true};
  const Status missed = select_tactics(**graph, backend, {}, strict, cache_);
  ASSERT_FALSE(missed.ok());
  EXPECT_NE(missed.error().message.find("timing cache miss"), std::string::npos);
  EXPECT_EQ(cache_.size(), 0u);
  EXPECT_EQ(tactic_of(kThree), "cuda.b");
  EXPECT_EQ(tactic_of(kThree, strict), "cuda.b");
  // Times of layers without those of their sequence are not enough.
  TimingCache alone;
  for (const auto& [key, time] : cache_.entries())
    if (!key.starts_with("sequence")) alone.insert(key, time);
  cache_ = alone;
  EXPECT_FALSE(select_tactics(**parse_graph(kThree), backend, {}, strict, cache_).ok());
}

TEST_F(SequenceTuningTest, OnlyTimesAreTimes) {
  EXPECT_EQ(tactic_of(kThree), "cuda.b");
  for (const auto& [key, time] : cache_.entries()) EXPECT_LE(time, 3) << key;
  const auto read = TimingCache::deserialize(cache_.serialize());
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->serialize(), cache_.serialize());
  // The size of a workspace is known from the cache all the same.
  EXPECT_EQ(tactic_of(kAlone, {.workspace_limit = 99}), "cuda.b");
}

TEST(TimingCacheFormat, CachesOfAnEarlierOneAreEmpty) {
  std::vector<std::byte> bytes = TimingCache().serialize();
  EXPECT_FALSE(TimingCache::is_of_earlier_format(bytes));
  bytes[7] = std::byte{'1'};
  EXPECT_TRUE(TimingCache::is_of_earlier_format(bytes));
  EXPECT_FALSE(TimingCache::deserialize(bytes).ok());  // The checksum is another's.
}

/// Takes as long as it is told, its first two runs perhaps longer, and is counted.
class Slow final : public Kernel {
 public:
  Slow(int milliseconds, int first, std::atomic<int>& runs)
      : milliseconds_(milliseconds), first_(first), runs_(runs) {}
  Status run(const LaunchArguments&) const override {
    const int time = ++runs_ <= 2 ? first_ : milliseconds_;
    std::this_thread::sleep_for(std::chrono::milliseconds(time));
    return {};
  }

 private:
  int milliseconds_, first_;
  std::atomic<int>& runs_;
};

template <int kMilliseconds> std::atomic<int>& runs_of() {
  static std::atomic<int> runs = 0;
  return runs;
}

template <int kMilliseconds, int kFirst = kMilliseconds> Tactic slow_row(std::string_view name) {
  Tactic tactic = cpu_tactics().back();
  tactic.name = name;
  tactic.traits = {};
  tactic.create = [](const Problem&, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(
        std::make_unique<Slow>(kMilliseconds, kFirst, runs_of<kMilliseconds>()));
  };
  return tactic;
}

TEST(Timing, LongKernelsRunAsOftenAsIsAskedAndHopelessOnesOnce) {
  const std::vector<Tactic> rows = {slow_row<25>("cpu.long"), slow_row<250>("cpu.hopeless"),
                                    cpu_tactics().back()};
  Backend backend = cpu_backend(1);
  backend.tactics = rows;
  auto graph = parse_graph(kAlone);
  ASSERT_TRUE(graph.ok());
  TimingCache cache;
  ASSERT_TRUE(select_tactics(**graph, backend, {}, {.average_runs = 9}, cache).ok());
  EXPECT_EQ((*graph)->nodes()[0]->tactic, "cpu.long");
  EXPECT_GE(runs_of<25>(), 9);
  EXPECT_LE(runs_of<250>(), 2);  // One that warms, one that is timed.
}

TEST(Timing, ADisturbedFirstRunIsDoneOnceMore) {
  const std::vector<Tactic> rows = {slow_row<27>("cpu.long"), slow_row<9, 90>("cpu.disturbed"),
                                    slow_row<99>("cpu.slow"), cpu_tactics().back()};
  Backend backend = cpu_backend(1);
  backend.tactics = rows;
  auto graph = parse_graph(kAlone);
  ASSERT_TRUE(graph.ok());
  TimingCache cache;
  ASSERT_TRUE(select_tactics(**graph, backend, {}, {}, cache).ok());
  EXPECT_EQ((*graph)->nodes()[0]->tactic, "cpu.disturbed");
  EXPECT_LE(runs_of<99>(), 4);
}

/// How often proposals were asked for.
int& questions() {
  static int count = 0;
  return count;
}

TEST_F(SequenceTuningTest, LibrariesAreNotAskedForWhatTheCacheKnows) {
  for (Tactic& tactic : rows_)
    tactic.configs = [](const Problem&) {
      ++questions();
      return std::vector<std::string>{"n=2", "n=1"};
    };
  const std::string taken = tactic_of(kAlone);
  const int before = questions();
  EXPECT_GT(before, 0);
  EXPECT_EQ(tactic_of(kAlone), taken);
  // Only the fallback's, which is not timed.
  EXPECT_EQ(questions(), before + 1);
  // Another number of candidates is another list.
  rows_.insert(rows_.begin() + 1, row<'b'>("cuda.another"));
  EXPECT_EQ(tactic_of(kAlone), taken);
}

TEST(RivalsTest, TheBestOfEachTacticComesFirst) {
  Tactic library = cpu_tactics().back();
  library.name = "cuda.a.lt";
  library.traits = {.origin = TacticOrigin::kCublasLt};
  const Backend backend{.device = nullptr, .tactics = {&library, 1}};
  const Candidate candidates[] = {{"cuda.a.lt{n=1}", 1.0, {}}, {"cuda.a.lt{n=2}", 1.05, {}},
                                  {"cuda.b{}", 1.2, {}},       {"cuda.b{n=2}", 1.1, {}},
                                  {"cuda.c{}", 2.0, {}},       {"cuda.d{}", -1, {}}};
  const Rivals rivals = rivals_of(backend, candidates);
  EXPECT_EQ(rivals.best, 1.0);
  EXPECT_EQ(rivals.tactics, std::vector<std::string>(
                                {"cuda.a.lt{n=1}", "cuda.b{n=2}", "cuda.a.lt{n=2}", "cuda.b{}"}));
  EXPECT_EQ(rivals.own, "cuda.b{n=2}");
}

}  // namespace
}  // namespace tenon
