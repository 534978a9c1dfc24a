// Kernels by shape: the candidates that are tried at the ends of a profile and between them.
#include "select/choices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <mutex>
#include <numeric>
#include <set>
#include <thread>

#include "ir/text.h"
#include "made_up_device.h"
#include "ops/ops.h"
#include "plan/points.h"
#include "select/stages.h"

namespace tenon {
namespace {

constexpr char kExp[] = "graph \"\" (%0 \"x\": f32[b,8]) { %1 = exp(%0) : f32[b,8] return %1}";
constexpr int kConfigs = 12;

/// A device that keeps account of the configurations that were made for each number of rows, and of
/// how often their kernels were to be launched.
class Account : public MadeUpDevice {
 public:
  Result<double> time(Queue queue, int repeats, const std::function<Status()>& launch) override {
    auto milliseconds = MadeUpDevice::time(queue, repeats, launch);
    asked[latest_rows].insert(repeats);
    return milliseconds;
  }
  std::mutex mutex;
  std::map<int64_t, std::set<int>> made, asked;
  std::mutex code_mutex;
  std::map<int64_t, std::set<std::string>> configs;  ///< That were made, by rows.
  int64_t latest_rows = 0;                           ///< Of the latest launch.
};

/// As many launches as its configuration is far from the best one for these rows.
class Tuned final : public Kernel {
 public:
  Tuned(Account& device, int64_t rows, size_t launches)
      : device_(device), rows_(rows), launches_(launches) {}
  Status run(const LaunchArguments&) const override {
    device_.latest_rows = rows_;
    device_.launches.insert(device_.launches.end(), launches_, 'a');
    return {};
  }

 private:
  Account& device_;
  int64_t rows_;
  size_t launches_;
};

/// For 2^n rows it is the one of number n.
int best_for(int64_t rows) {
  return static_cast<int>(std::lround(std::log2(rows)));
}

/// The tactic takes the configuration behind the best for that.
Tactic tuned() {
  Tactic tactic = cpu_tactics().back();
  tactic.name = "cuda.tuned";
  tactic.device = DeviceKind::kCuda;
  tactic.traits = {};
  tactic.configs = [](const Problem& problem) {
    const int expected = best_for(problem.output().extents[0]) + 1;
    std::vector<int> numbers(kConfigs);
    std::iota(numbers.begin(), numbers.end(), 0);
    std::ranges::stable_sort(numbers, {}, [&](int i) { return std::abs(i - expected); });
    std::vector<std::string> configs;
    for (const int i : numbers) configs.push_back(std::to_string(i));
    return configs;
  };
  tactic.create = [](const Problem& problem,
                     std::string_view config) -> Result<std::unique_ptr<Kernel>> {
    auto& device = static_cast<Account&>(*problem.device);
    const int number = std::stoi(std::string(config));
    const int64_t rows = problem.output().extents[0];
    const std::lock_guard lock(device.mutex);
    device.made[rows].insert(number);
    const int far = std::abs(number - best_for(rows));
    return std::unique_ptr<Kernel>(
        std::make_unique<Tuned>(device, rows, static_cast<size_t>(20 + 2 * far)));
  };
  return tactic;
}

/// Launches of a kernel that takes so many rows at a time: as long for one of them as for all.
size_t stairs(int64_t rows, int64_t tile) {
  return static_cast<size_t>((rows + tile - 1) / tile * (tile + 4) * 4);
}

/// Configurations are tiles, and the fastest comes first.
template <int64_t... kTiles> Tactic tiled_by() {
  Tactic tactic = tuned();
  tactic.name = "cuda.tiled";
  tactic.configs = [](const Problem& problem) {
    const int64_t rows = problem.output().extents[0];
    std::vector<int64_t> tiles = {kTiles...};
    std::ranges::stable_sort(tiles, {}, [&](int64_t tile) { return stairs(rows, tile); });
    std::vector<std::string> configs;
    for (const int64_t tile : tiles) configs.push_back(std::to_string(tile));
    return configs;
  };
  tactic.create = [](const Problem& problem,
                     std::string_view config) -> Result<std::unique_ptr<Kernel>> {
    const int64_t tile = std::stoi(std::string(config)), rows = problem.output().extents[0];
    return std::unique_ptr<Kernel>(
        std::make_unique<Tuned>(static_cast<Account&>(*problem.device), rows, stairs(rows, tile)));
  };
  return tactic;
}

Tactic tiled() {
  return tiled_by<4, 8, 16, 32, 64>();
}

class Choices : public testing::Test {
 protected:
  void choose(int64_t most, const char* usual = "cuda.tuned{3}") {
    auto graph = parse_graph(kExp);
    ASSERT_TRUE(graph.ok()) << graph.error().message;
    plan_.graph = std::move(graph).value();
    plan_.graph->symbol_ranges["b"] = {1, most};
    plan_.profiles = {{{"x", {{1, 8}, {8, 8}, {most, 8}}}}};
    plan_.graph->nodes()[0]->tactic = usual;
    TimingCache cache;
    NullLogger logger;
    const Backend backend{.device = device_, .tactics = rows_};
    const Status chosen = choose_by_shape(plan_, backend, {.many_shapes = true}, cache, logger);
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  }
  std::string taken(int64_t rows) const {
    const Choice* const choice = nearest_choice(plan_.choices, {{"b", rows}});
    const auto found = choice->tactics.find(0);
    return found == choice->tactics.end() ? plan_.graph->nodes()[0]->tactic : found->second;
  }

  /// How far from the best the kernel is that runs there.
  int error(int64_t rows) const {
    return std::abs(std::stoi(std::string(split_tactic(taken(rows)).config)) - best_for(rows));
  }

  std::shared_ptr<Account> device_ = std::make_shared<Account>();
  std::vector<Tactic> rows_ = {tuned(), cpu_tactics().back()};
  Plan plan_;
};

TEST_F(Choices, AreAmongAllAtTheEndsAndAmongTheNearestBetweenThem) {
  choose(64);
  for (const int64_t rows : {1, 8, 64}) EXPECT_EQ(device_->made[rows].size(), kConfigs) << rows;
  for (const int64_t rows : {2, 4, 16, 32}) {
    const std::set<int>& made = device_->made[rows];
    // Two of each side, and at most two that the tactic itself puts first.
    EXPECT_LE(made.size(), 6u) << rows;
    EXPECT_EQ(made.count(kConfigs - 1), 0u) << rows << ": good nowhere near";
  }
  for (const int64_t rows : {1, 2, 4, 8, 64}) EXPECT_EQ(error(rows), 0) << rows;
  // What the tactic puts first there is near the best at a neighbour.
  EXPECT_LE(error(16), 1);
}

/// A range's ends are tried together with the usual shapes: that fills all threads.
TEST_F(Choices, FindTheTimesOfEndsThatWereTriedBesideTheUsualShapes) {
  auto graph = parse_graph(kExp);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  (*graph)->symbol_ranges["b"] = {1, 64};
  const Backend backend{.device = device_, .tactics = rows_};
  TimingCache cache;
  SelectOptions options{.many_shapes = true};
  options.beside.ends = {{{"b", 1}}, {{"b", 64}}};
  ASSERT_TRUE(select_tactics(**graph, backend, {{"b", 8}}, options, cache).ok());
  EXPECT_EQ((*graph)->nodes()[0]->tactic, "cuda.tuned{3}");
  for (const int64_t rows : {1, 8, 64}) EXPECT_EQ(device_->made[rows].size(), kConfigs) << rows;
  device_->made.clear();
  plan_.graph = std::move(graph).value();
  plan_.profiles = {{{"x", {{1, 8}, {8, 8}, {64, 8}}}}};
  NullLogger logger;
  ASSERT_TRUE(choose_by_shape(plan_, backend, options, cache, logger).ok());
  for (const int64_t rows : {1, 8, 64})
    EXPECT_LE(device_->made[rows].size(), 1U) << rows << ": the code of the best alone";
  EXPECT_EQ(taken(64), "cuda.tuned{6}");
}

/// Its row puts other kernels first under each of the shapes.
TEST_F(Choices, AreTriedByOneStageAtTheEnds) {
  auto graph = parse_graph(kExp);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  (*graph)->symbol_ranges["b"] = {1, 64};
  rows_[0].traits.staged = true;
  const Backend backend{.device = device_, .tactics = rows_};
  TimingCache cache;
  SelectOptions options{.many_shapes = true};
  options.beside.ends = {{{"b", 1}}, {{"b", 64}}};
  ASSERT_TRUE(select_tactics(**graph, backend, {{"b", 8}}, options, cache).ok());
  // Configurations next to 1, 4 and 7; those next to 4 are made for the usual shapes.
  EXPECT_EQ(device_->made[1], (std::set{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(device_->made[64], (std::set{3, 4, 5, 6, 7}));
  EXPECT_GT(device_->made[8].size(), 3u);
  device_->made.clear();
  options.beside = {};
  ASSERT_TRUE(select_tactics(**graph, backend, {{"b", 64}}, options, cache).ok());
  EXPECT_GT(device_->made[64].size(), 0u) << "more stages under usual shapes";
}

TEST_F(Choices, AreTriedByOneStageOfTacticsThatHaveStagesInRangesAlone) {
  auto graph = parse_graph(kExp);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  (*graph)->symbol_ranges["b"] = {1, 64};
  rows_[0].traits.staged_in_ranges = true;
  rows_[0].configs = [](const Problem& problem) {
    const bool is_usual = problem.output().extents[0] == 8;
    return is_usual ? std::vector<std::string>{"2", "3", "4"}
                    : std::vector<std::string>{"0", "1", "7", "5", "6", "4"};
  };
  const Backend backend{.device = device_, .tactics = rows_};
  TimingCache cache;
  SelectOptions options{.many_shapes = true};
  options.beside.ends = {{{"b", 1}}, {{"b", 64}}};
  ASSERT_TRUE(select_tactics(**graph, backend, {{"b", 8}}, options, cache).ok());
  EXPECT_EQ(device_->made[8], (std::set{2, 3, 4}));
  EXPECT_EQ(device_->made[1], (std::set{0, 1, 4, 7}));
  EXPECT_EQ(device_->made[64], (std::set{0, 1, 4}));
}

constexpr char kProduct[] =
    "graph \"\" (%0 \"x\": f32[b,8], %1 \"w\": f32[8,8]) {"
    " %2 = matmul(%0, %1) : f32[b,8] return %2}";
constexpr char kProductOfTransposed[] =
    "graph \"\" (%0 \"x\": f32[b,8], %1 \"w\": f32[8,8]) {"
    " %2 = matmul(%0, %1) {transpose_b = true} : f32[b,8] return %2}";

/// Numbers from kConfigs on are of transposed weights.
Tactic tuned_product() {
  Tactic tactic = tuned();
  tactic.create = [](const Problem& problem, std::string_view config) {
    auto& device = static_cast<Account&>(*problem.device);
    if (problem.operation.as<MatMul>()->transpose_b) {
      const std::lock_guard lock(device.mutex);
      device.made[problem.output().extents[0]].insert(kConfigs + std::stoi(std::string(config)));
    }
    return tuned().create(problem, config);
  };
  return tactic;
}

/// Two forms of one network, whose products are of other weights.
class ChoicesOfForms : public Choices {
 protected:
  ChoicesOfForms() {
    for (auto* each : {&graph, &form}) (*each)->symbol_ranges["b"] = {1, 64};
    rows_ = {tuned_product(), cpu_tactics().back()};
    backend.tactics = rows_;
    options.beside.ends = {{{"b", 1}}, {{"b", 64}}};
    options.beside.forms = {form.get()};
  }
  std::unique_ptr<Graph> graph = parse_graph(kProduct).value();
  std::unique_ptr<Graph> form = parse_graph(kProductOfTransposed).value();
  Backend backend{.device = device_};
  TimingCache cache;
  SelectOptions options{.many_shapes = true};
};

/// Another form's products of the same extents are tried by the kernels that were the best.
TEST_F(ChoicesOfForms, OfAnotherAreAmongTheNearestForProductsOfTheSameExtents) {
  ASSERT_TRUE(select_tactics(*graph, backend, {{"b", 8}}, options, cache).ok());
  for (const int64_t rows : {1, 8, 64}) {
    const std::set<int>& made = device_->made[rows];
    EXPECT_EQ(made.count(kConfigs - 1), 1u) << rows;
    EXPECT_EQ(made.count(kConfigs + best_for(rows)), 1u) << rows;
    EXPECT_EQ(made.count(2 * kConfigs - 1), 0u) << rows << ": good nowhere near";
  }
  device_->made.clear();
  options.beside.forms.clear();
  options.of_form = true;
  ASSERT_TRUE(select_tactics(*form, backend, {{"b", 8}}, options, cache).ok());
  EXPECT_EQ(form->nodes()[0]->tactic, "cuda.tuned{3}");
  for (const int64_t rows : {1, 8, 64}) EXPECT_LE(device_->made[rows].size(), 1u) << rows;
}

/// Its layers are tried between the ends as well, by their kernels near the best at the ends.
TEST_F(ChoicesOfForms, OfAnotherFindTheTimesOfShapesBetweenTheEnds) {
  options.beside.between = {{{"b", 4}}, {{"b", 16}}};
  options.beside.others = {{{"b", 11}}};
  ASSERT_TRUE(select_tactics(*graph, backend, {{"b", 8}}, options, cache).ok());
  const auto of_form = [&](int64_t rows, int configuration) {
    return device_->made[rows].count(kConfigs + configuration);
  };
  for (const int64_t rows : {4, 16}) {
    EXPECT_GE(of_form(rows, best_for(rows)) + of_form(rows, best_for(rows) + 1), 1u) << rows;
    EXPECT_EQ(of_form(rows, kConfigs - 1), 0u) << rows << ": good nowhere near";
  }
  for (int number = 0; number < kConfigs; ++number) EXPECT_EQ(of_form(11, number), 0u);
}

/// While kernels of some layers are compiled, those of others are timed under all shapes.
TEST_F(Choices, FindTheTimesOfShapesBetweenTheEndsThatWereTriedAhead) {
  auto graph = parse_graph(kExp);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  (*graph)->symbol_ranges["b"] = {1, 32};
  rows_ = {tiled(), cpu_tactics().back()};
  const Backend backend{.device = device_, .tactics = rows_};
  TimingCache cache;
  SelectOptions options{.many_shapes = true};
  options.beside.ends = {{{"b", 8}}, {{"b", 1}}, {{"b", 32}}};
  options.beside.between = {{{"b", 2}}, {{"b", 4}}, {{"b", 16}}};
  for (const int64_t rows : {5, 11, 17, 25}) options.beside.others.push_back({{"b", rows}});
  ASSERT_TRUE(select_tactics(**graph, backend, {{"b", 8}}, options, cache).ok());
  for (const int64_t rows : {2, 4, 16}) EXPECT_EQ(device_->asked[rows], std::set{8}) << rows;
  for (const int64_t rows : {11, 17, 25}) EXPECT_EQ(device_->asked[rows], std::set{3}) << rows;
  EXPECT_FALSE(device_->asked.contains(13));
  device_->asked.clear();
  plan_.graph = std::move(graph).value();
  plan_.profiles = {{{"x", {{1, 8}, {8, 8}, {32, 8}}}}};
  NullLogger logger;
  ASSERT_TRUE(choose_by_shape(plan_, backend, options, cache, logger).ok());
  for (const int64_t rows : {1, 2, 4, 8, 11, 16, 17, 25, 32})
    EXPECT_FALSE(device_->asked.contains(rows)) << rows;
  EXPECT_TRUE(device_->asked.contains(13)) << "was not tried ahead";
}

/// Kernels of one layer and configuration have one code under all shapes: as many threads that ask
/// for it would wait for the one that compiles it.
TEST_F(Choices, AskForCodeOnceAtATime) {
  auto graph = parse_graph(kExp);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  (*graph)->symbol_ranges["b"] = {1, 32};
  /// By configuration: whether its code is there, or still being compiled.
  static std::map<std::string, bool> code;
  static int waits;
  code.clear(), waits = 0;
  Tactic slow = tuned();
  slow.configs = [](const Problem&) { return std::vector<std::string>{"1", "2"}; };
  slow.create = [](const Problem& problem,
                   std::string_view config) -> Result<std::unique_ptr<Kernel>> {
    std::mutex& mutex = static_cast<Account&>(*problem.device).code_mutex;
    std::unique_lock lock(mutex);
    const auto [found, is_first] = code.try_emplace(std::string(config), false);
    if (is_first) {
      lock.unlock();
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      lock.lock();
      found->second = true;
    }
    waits += found->second ? 0 : 1;
    lock.unlock();
    return tuned().create(problem, config);
  };
  rows_ = {slow, cpu_tactics().back()};
  const Backend backend{.device = device_, .tactics = rows_};
  TimingCache cache;
  SelectOptions options{.many_shapes = true};
  options.beside.ends = {{{"b", 8}}, {{"b", 1}}, {{"b", 32}}};
  options.beside.between = {{{"b", 2}}, {{"b", 4}}, {{"b", 16}}};
  for (int64_t rows = 17; rows < 32; ++rows) options.beside.others.push_back({{"b", rows}});
  ASSERT_TRUE(select_tactics(**graph, backend, {{"b", 8}}, options, cache).ok());
  EXPECT_EQ(waits, 0);
  for (const int64_t rows : {1, 8, 16, 32}) EXPECT_EQ(device_->made[rows].size(), 2u) << rows;
  EXPECT_FALSE(device_->made[17].empty());
}

/// Shapes between the ends are tried by few kernels, which says nothing of a build for these
/// shapes.
TEST_F(Choices, LeaveNoShortListsToOtherBuilds) {
  auto graph = parse_graph(kExp);
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  (*graph)->symbol_ranges["b"] = {1, 64};
  const Backend backend{.device = device_, .tactics = rows_};
  TimingCache cache;
  SelectOptions options{.many_shapes = true};
  options.beside.ends = {{{"b", 1}}, {{"b", 64}}};
  options.beside.between = {{{"b", 4}}};
  ASSERT_TRUE(select_tactics(**graph, backend, {{"b", 8}}, options, cache).ok());
  EXPECT_LT(device_->made[4].size(), kConfigs);
  options.beside = {};
  ASSERT_TRUE(select_tactics(**graph, backend, {{"b", 4}}, options, cache).ok());
  EXPECT_EQ(device_->made[4].size(), kConfigs);
}

/// Kernels tried between the ends count for the shapes behind.
TEST_F(Choices, BetweenPointsFollowTheirNeighbours) {
  choose(512);
  for (const int64_t rows : {16, 32, 64, 128, 256}) {
    EXPECT_LE(device_->made[rows].size(), 6u) << rows;
    EXPECT_LE(error(rows), rows < 256 ? 0 : 1) << rows;
  }
}

/// The same with a slow one ahead, which the tactic takes for the fastest everywhere.
Tactic tiled_behind_a_slow_one() {
  Tactic tactic = tiled();
  tactic.configs = [](const Problem& problem) {
    std::vector<std::string> configs = tiled().configs(problem);
    configs.insert(configs.begin(), "128");
    return configs;
  };
  return tactic;
}

/// One row more than whole tiles takes another one, for which smaller ones are better.
class TiledChoices : public Choices, public testing::WithParamInterface<Tactic (*)()> {};

TEST_P(TiledChoices, ComeInWhereTheNeighboursKernelsAreFarFromTheBest) {
  rows_ = {GetParam()(), cpu_tactics().back()};
  choose(32, "cuda.tiled{8}");
  for (int64_t rows = 1; rows <= 32; ++rows) {
    size_t best = SIZE_MAX;
    for (const int64_t tile : {4, 8, 16, 32, 64}) best = std::min(best, stairs(rows, tile));
    const std::string tactic = taken(rows);
    const int64_t tile = std::stoi(tactic.substr(tactic.find('{') + 1));
    EXPECT_LE(static_cast<double>(stairs(rows, tile)), 1.04 * static_cast<double>(best))
        << rows << ": " << tactic;
  }
  EXPECT_LT(plan_.choices.size(), 24u) << "neighbours share choices";
}

/// There are many of the others.
TEST_F(Choices, AreTimedByFewerLaunchesBetweenThePowersOfTwo) {
  rows_ = {tiled(), cpu_tactics().back()};
  choose(32, "cuda.tiled{8}");
  for (const int64_t rows : {1, 2, 4, 8, 16, 32})
    EXPECT_EQ(device_->asked[rows], std::set{8}) << rows;
  for (const int64_t rows : {11, 17, 25}) EXPECT_EQ(device_->asked[rows], std::set{3}) << rows;
}

INSTANTIATE_TEST_SUITE_P(Tactics, TiledChoices, testing::Values(tiled, tiled_behind_a_slow_one));

/// Five rows have the kernels of four, until six, which are nearer, get others.
TEST_F(Choices, KeepShapesFromLaterOnesThatAreNearer) {
  rows_ = {tiled_by<5, 7, 12>(), cpu_tactics().back()};
  choose(8, "cuda.tiled{12}");
  EXPECT_EQ(taken(4), "cuda.tiled{5}");
  EXPECT_EQ(taken(5), "cuda.tiled{5}");
  EXPECT_EQ(taken(6), "cuda.tiled{7}");
  EXPECT_EQ(taken(8), "cuda.tiled{12}");
}

/// The fastest tactic, for up to four rows.
Tactic few_rows() {
  Tactic tactic = tiled_by<1>();
  tactic.name = "cuda.few";
  tactic.takes = [](const Problem& problem) {
    return problem.output().extents[0] <= 4 ? Support{} : Support::no("more rows");
  };
  tactic.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(std::make_unique<Tuned>(static_cast<Account&>(*problem.device),
                                                           problem.output().extents[0], 8));
  };
  return tactic;
}

TEST_F(Choices, ReplaceKernelsThatTakeFewerRows) {
  rows_ = {few_rows(), tiled_by<5, 12>(), cpu_tactics().back()};
  choose(8, "cuda.tiled{12}");
  EXPECT_EQ(taken(4), "cuda.few{1}");
  EXPECT_EQ(taken(5), "cuda.tiled{5}");
}

/// Its best kernel for 17 to 24 rows is one that it proposes for no others.
Tactic tiled_for_24_rows() {
  Tactic tactic = tiled();
  tactic.configs = [](const Problem& problem) {
    std::vector<std::string> configs = tiled().configs(problem);
    const int64_t rows = problem.output().extents[0];
    if (rows > 16 && rows <= 24) configs.insert(configs.begin(), "24");
    return configs;
  };
  return tactic;
}

TEST_F(Choices, TryTheKernelThatATacticExpectsToBeTheBest) {
  rows_ = {tiled_for_24_rows(), cpu_tactics().back()};
  choose(32, "cuda.tiled{8}");
  EXPECT_EQ(taken(24), "cuda.tiled{24}");
  EXPECT_NE(taken(32), "cuda.tiled{24}");
}

/// As many launches as the operator takes for so many rows: exp always the same.
template <size_t kExp, size_t kTanh, size_t kRows> Tactic by_operator() {
  Tactic tactic = tuned();
  tactic.name = "cuda.operator";
  tactic.configs = [](const Problem&) { return std::vector<std::string>{"0", "1"}; };
  tactic.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    auto& device = static_cast<Account&>(*problem.device);
    const bool is_exp =
        problem.operation.node().as<Pointwise>()->function == PointwiseFunction::k_exp;
    const int64_t rows = problem.output().extents[0];
    const std::lock_guard lock(device.mutex);
    device.made[rows].insert(is_exp ? 0 : 1);
    return std::unique_ptr<Kernel>(std::make_unique<Tuned>(
        device, rows, is_exp ? kExp : kTanh + static_cast<size_t>(rows) * kRows / 4));
  };
  return tactic;
}

/// A plan whose graph takes twenty launches a layer, and whose other form two a row, or others.
class Forms : public Choices {
 protected:
  void choose_forms(int64_t least, int64_t usual, int64_t most = 64,
                    Tactic (*tactic)() = by_operator<20, 0, 8>) {
    rows_ = {tactic(), cpu_tactics().back()};
    plan_.graph = layers_of("exp");
    plan_.forms.push_back(layers_of("tanh"));
    plan_.profiles = {{{"x", {{least, 8}, {usual, 8}, {most, 8}}}}};
    TimingCache cache;
    NullLogger logger;
    const Backend backend{.device = device_, .tactics = rows_};
    const Status chosen = choose_by_shape(plan_, backend, {.many_shapes = true}, cache, logger);
    ASSERT_TRUE(chosen.ok()) << chosen.error().message;
  }
  static std::unique_ptr<Graph> layers_of(const char* name) {
    auto graph = parse_graph(
        fmt::format("graph \"\" (%0 \"x\": f32[b,8]) {{ %1 = {0}(%0) : f32[b,8] %2 = {0}(%1) : "
                    "f32[b,8] return %2}}",
                    name));
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    (*graph)->symbol_ranges["b"] = {1, 64};
    for (const auto& node : (*graph)->nodes()) node->tactic = "cuda.operator{0}";
    return std::move(graph).value();
  }
  int form_at(int64_t rows) const { return nearest_choice(plan_.choices, {{"b", rows}})->form; }
};

TEST_F(Forms, ServeTheShapesThatTheyAreFasterFor) {
  choose_forms(1, 4);
  for (const int64_t rows : {1, 2, 4, 8}) EXPECT_EQ(form_at(rows), 1) << rows;
  for (const int64_t rows : {16, 32, 64}) EXPECT_EQ(form_at(rows), 0) << rows;
  EXPECT_EQ(device_->made[2], std::set<int>{1}) << "between two that run by one form";
  EXPECT_EQ(device_->made[8], (std::set<int>{0, 1})) << "between two that do not";
}

/// Ten rows take as long by either.
TEST_F(Forms, ChangeWhereTheOtherGetsFaster) {
  choose_forms(1, 4, 32);
  for (int64_t rows = 1; rows <= 32; ++rows) EXPECT_EQ(form_at(rows), rows < 10 ? 1 : 0) << rows;
  size_t tried = 0;
  for (int64_t rows = 9; rows < 16; ++rows) tried += device_->made[rows].size() == 2 ? 1 : 0;
  EXPECT_LE(tried, 3u) << "of seven, by halves";
}

/// The shapes of that search follow each other: new kernels would be compiled for each alone.
TEST_F(Forms, AreSearchedForByKernelsOfTheNeighbours) {
  constexpr auto kAll = [] {
    Tactic tactic = by_operator<20, 0, 8>();
    tactic.configs = [](const Problem& problem) {
      return std::vector<std::string>{std::to_string(problem.output().extents[0]), "0"};
    };
    tactic.create = [](const Problem& problem,
                       std::string_view config) -> Result<std::unique_ptr<Kernel>> {
      auto& device = static_cast<Account&>(*problem.device);
      const std::lock_guard lock(device.code_mutex);
      device.configs[problem.output().extents[0]].emplace(config);
      return by_operator<20, 0, 8>().create(problem, config);
    };
    return tactic;
  };
  choose_forms(1, 4, 32, kAll);
  EXPECT_EQ(form_at(8), 1);
  EXPECT_EQ(form_at(16), 0);
  EXPECT_TRUE(device_->configs[16].contains("16")) << "proposed";
  size_t searched = 0;
  for (const Choice& choice : plan_.choices) {
    const int64_t rows = choice.symbols.at("b");
    if (rows <= 8 || rows >= 16) continue;
    EXPECT_FALSE(device_->configs[rows].contains(std::to_string(rows))) << rows;
    ++searched;
  }
  EXPECT_GT(searched, 0u);
}

TEST_F(Forms, AreNotSearchedForWhereLittleIsLost) {
  choose_forms(1, 4, 32, by_operator<200, 196, 1>);
  for (const int64_t rows : {1, 2, 4}) EXPECT_EQ(form_at(rows), 1) << rows;
  for (const int64_t rows : {8, 16, 32}) EXPECT_EQ(form_at(rows), 0) << rows;
  for (const int64_t rows : {5, 6, 7}) EXPECT_LT(device_->made[rows].size(), 2u) << rows;
}

TEST_F(Forms, ThatServeNoShapeAreDropped) {
  choose_forms(16, 32);
  EXPECT_TRUE(plan_.forms.empty());
  for (const Choice& choice : plan_.choices) EXPECT_EQ(choice.form, 0);
}

}  // namespace
}  // namespace tenon
