// A context of a range makes the programs of the shapes that a plan's kernels were chosen for;
// those of libraries that are not ready yet are made beside the application.
#include <gtest/gtest.h>

#include <atomic>
#include <set>

#include "ir/text.h"
#include "runtime/context.h"
#include "runtime/engine.h"
#include "select/made_up_device.h"

namespace tenon {
namespace {

constexpr char kExp[] = "graph \"\" (%0 \"x\": f32[b]) { %1 \"y\" = exp(%0) : f32[b] return %1}";

/// Kernels that were made, by tactic and elements, and the state that their making saw.
struct Seen {
  std::mutex mutex;
  std::set<std::pair<std::string, int64_t>> made;
  std::atomic<bool> allows_start = false;
  std::atomic<bool> asked_application = false;

  bool has(const std::string& tactic, int64_t elements) {
    const std::lock_guard lock(mutex);
    return made.contains({tactic, elements});
  }
} seen;

class Launch final : public Kernel {
 public:
  Status run(const LaunchArguments&) const override { return {}; }
};

template <char kName> Tactic row(std::string_view name, TacticOrigin origin) {
  Tactic tactic = cpu_tactics().back();
  tactic.name = name;
  tactic.device = DeviceKind::kCuda;
  tactic.traits = {};
  tactic.traits.origin = origin;
  tactic.configs = single_config;
  tactic.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    const std::lock_guard lock(seen.mutex);
    seen.made.insert({std::string(1, kName), problem.output().count()});
    seen.asked_application = seen.asked_application || problem.application != nullptr;
    return std::unique_ptr<Kernel>(std::make_unique<Launch>());
  };
  return tactic;
}

Status start_when_allowed(Device&) {
  seen.allows_start.wait(false);
  return {};
}

class SilentApplication final : public Application {
 public:
  void* error_recorder() const override { return nullptr; }
  void warn(const std::string&) const override {}
};

class MeetChoices : public testing::Test {
 protected:
  void SetUp() override {
    seen.made.clear();
    seen.asked_application = false;
    seen.allows_start = true;
  }

  /// By a kernel of our own at 1, 8 and 32 elements, at 5 and 21 by others.
  Result<std::shared_ptr<Engine>> engine() {
    Plan plan;
    plan.device = DeviceKind::kCuda;
    plan.device_name = device_->properties().name;
    TENON_ASSIGN(plan.graph, parse_graph(kExp));
    plan.graph->nodes()[0]->tactic = "cuda.own";
    plan.profiles = {{{"x", {{1}, {8}, {32}}}}};
    for (const auto& [elements, tactic] :
         {std::pair(int64_t{8}, ""), std::pair(int64_t{5}, "cuda.other"),
          std::pair(int64_t{21}, "cuda.library")}) {
      Choice& choice = plan.choices.emplace_back();
      choice.symbols["b"] = elements;
      if (*tactic != '\0') choice.tactics[0] = tactic;
    }
    plan.code = std::make_shared<CodeLibrary>();
    Backend backend{.device = device_, .tactics = rows_};
    backend.starts = {{TacticOrigin::kCublasLt, start_when_allowed}};
    backend.memory = memory_;
    backend.application = std::make_shared<SilentApplication>();
    return Engine::create(std::move(plan), std::move(backend));
  }

  MemorySource memory_;
  std::shared_ptr<MadeUpDevice> device_ = std::make_shared<MadeUpDevice>();
  std::vector<Tactic> rows_ = {
      row<'o'>("cuda.own", TacticOrigin::kOwn), row<'t'>("cuda.other", TacticOrigin::kOwn),
      row<'l'>("cuda.library", TacticOrigin::kCublasLt), cpu_tactics().back()};
};

TEST_F(MeetChoices, AlsoBetweenThePointsOfAProfile) {
  const auto made = engine();
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto context = Context::create(*made);
  ASSERT_TRUE((*context)->get_ready().ok());
  EXPECT_TRUE(seen.has("o", 8));
  EXPECT_TRUE(seen.has("t", 5));
}

TEST_F(MeetChoices, OfLibrariesBesideTheApplication) {
  seen.allows_start = false;
  const auto made = engine();
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto context = Context::create(*made);
  ASSERT_TRUE((*context)->get_ready().ok());  // Does not wait for the library.
  EXPECT_TRUE(seen.has("t", 5));
  seen.asked_application = false;
  seen.allows_start = true;
  seen.allows_start.notify_all();
  (*made)->end_meeting();
  EXPECT_TRUE(seen.has("l", 21));
  EXPECT_FALSE(seen.asked_application) << "it may wait for the engine's end with a lock held";
  EXPECT_GT(device_->loads, 0) << "the library loads its kernels' code";
  EXPECT_TRUE(device_->leaves_captures_alone);
}

TEST_F(MeetChoices, AndAllOtherShapesWhereThereAreFew) {
  const auto made = engine();
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto context = Context::create(*made);
  ASSERT_TRUE((*context)->get_ready().ok());
  (*made)->end_meeting();
  for (const int64_t elements : {3, 7, 12, 31})
    EXPECT_TRUE(seen.has("o", elements) || seen.has("t", elements) || seen.has("l", elements))
        << elements;
}

TEST_F(MeetChoices, ButAsksForAnApplicationsMemoryInItsCallsAlone) {
  memory_ = [this](size_t bytes) { return device_->allocate(bytes); };
  const auto made = engine();
  ASSERT_TRUE(made.ok()) << made.error().message;
  const auto context = Context::create(*made);
  ASSERT_TRUE((*context)->get_ready().ok());
  (*made)->end_meeting();
  EXPECT_TRUE(seen.has("t", 5));
  for (const int64_t elements : {3, 7, 12, 31})
    EXPECT_FALSE(seen.has("o", elements) || seen.has("t", elements) || seen.has("l", elements))
        << elements;
}

TEST_F(MeetChoices, EndsWithTheEngine) {
  seen.allows_start = false;
  {
    auto made = engine();
    ASSERT_TRUE(made.ok()) << made.error().message;
    auto context = Context::create(*made);
    ASSERT_TRUE((*context)->get_ready().ok());
    seen.allows_start = true;
    seen.allows_start.notify_all();
  }
  // Each shape that it met stays whole or is not there: nothing runs any more.
  const int loads = device_->loads;
  std::this_thread::yield();
  EXPECT_EQ(device_->loads, loads);
}

}  // namespace
}  // namespace tenon
