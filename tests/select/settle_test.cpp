// Layers' rivals are tried in the whole sequence: on a made-up device whose launches cost what a
// table says, less beside others of their kind.
#include "select/settle.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "ir/text.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Names of the launches on a stream, in order.
using Launches = std::vector<char>;

/// "a" is fast alone. "b" takes 10 % more, but starts early behind another "b".
double cost_of(const Launches& launches) {
  double cost = 0;
  for (size_t i = 0; i < launches.size(); ++i) {
    const bool early = i > 0 && launches[i] == 'b' && launches[i - 1] == 'b';
    cost += launches[i] == 'a' ? 1.0 : early ? 0.7 : 1.1;
  }
  return cost;
}

/// Host memory, and streams that only keep account of what is launched.
class MadeUpDevice final : public Device, public Streams {
 public:
  MadeUpDevice() {
    properties_.kind = DeviceKind::kCuda;
    properties_.name = "made up";
  }
  const DeviceProperties& properties() const override { return properties_; }
  Result<DeviceBuffer> allocate(size_t bytes) override {
    return DeviceBuffer(std::calloc(bytes + 1, 1), [](void* memory) { std::free(memory); });
  }
  Status upload(void* to, const void* from, size_t bytes, Queue) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status download(void* to, const void* from, size_t bytes, Queue) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Status copy(void* to, const void* from, size_t bytes, Queue) override {
    std::memmove(to, from, bytes);
    return {};
  }
  Status synchronize(Queue) override { return {}; }
  bool unified() const override { return false; }
  Streams* streams() override { return this; }
  /// Each launch waits for the one ahead.
  Result<double> time(Queue, int, const std::function<Status()>& launch) override {
    launches.clear();
    TENON_TRY(launch());
    return cost_of(launches);
  }

  Result<DeviceHandle> make_stream() override { return handle(); }
  Result<DeviceHandle> make_event(bool, bool) override { return handle(); }
  Result<DeviceHandle> make_pinned(size_t) override { return handle(); }
  Status record(void*, void*) override { return {}; }
  Status wait(void*, void*) override { return {}; }
  Status synchronize_event(void*) override { return {}; }
  Status synchronize_stream(void*) override { return {}; }
  Result<double> elapsed(void*, void*) override { return cost_of(captured); }
  Result<bool> is_capturing(void*) override { return false; }
  Result<DeviceHandle> capture(void*, const std::function<Status()>& work) override {
    ++captures;
    launches.clear();
    TENON_TRY(work());
    captured = launches;
    return handle();
  }
  Status launch_graph(void*, void*) override { return {}; }

  Launches launches, captured;
  int captures = 0;

 private:
  static DeviceHandle handle() {
    return DeviceHandle(std::calloc(1, 1), [](void* memory) { std::free(memory); });
  }
  DeviceProperties properties_;
};

/// Computes nothing, is only counted. `b` waits for the launch ahead by itself.
class Counted final : public Kernel {
 public:
  Counted(MadeUpDevice& device, char name) : device_(device), name_(name) {}
  Status run(const LaunchArguments&) const override {
    device_.launches.push_back(name_);
    return {};
  }
  bool waits_for_previous() const override { return name_ == 'b'; }

 private:
  MadeUpDevice& device_;
  char name_;
};

template <char kName>
Tactic row(std::string_view name) {
  Tactic tactic = cpu_tactics().back();
  tactic.name = name;
  tactic.device = DeviceKind::kCuda;
  tactic.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    auto& device = static_cast<MadeUpDevice&>(*problem.device);
    return std::unique_ptr<Kernel>(std::make_unique<Counted>(device, kName));
  };
  return tactic;
}

/// Tactics of the only layers of `text`, all of one problem.
class SettleTest : public testing::Test {
 protected:
  std::string tactic_of(const std::string& text) {
    auto graph = parse_graph(text);
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    const Backend backend{.device = device_, .tactics = rows_};
    EXPECT_TRUE(select_tactics(**graph, backend, {}, {}, cache_).ok());
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

TEST_F(SettleTest, TheBestAloneIsTakenForOneLayer) {
  EXPECT_EQ(tactic_of(kAlone), "cuda.a");
}

TEST_F(SettleTest, TheBestInSequenceIsTakenForSeveral) {
  EXPECT_EQ(tactic_of(kThree), "cuda.b");
  EXPECT_EQ(device_->captured, Launches({'b', 'b', 'b'}));
}

TEST_F(SettleTest, WhatTheCacheKnowsIsNotMeasuredAgain) {
  EXPECT_EQ(tactic_of(kThree), "cuda.b");
  const int captures = device_->captures;
  EXPECT_GT(captures, 0);
  EXPECT_EQ(tactic_of(kThree), "cuda.b");
  EXPECT_EQ(device_->captures, captures);
}

TEST(RivalsTest, TheBestOfEachTacticComesFirst) {
  const Candidate candidates[] = {{"cuda.a.lt{n=1}", 1.0, {}}, {"cuda.a.lt{n=2}", 1.05, {}},
                                  {"cuda.b{}", 1.2, {}},       {"cuda.b{n=2}", 1.1, {}},
                                  {"cuda.c{}", 2.0, {}},       {"cuda.d{}", -1, {}}};
  const Rivals rivals = rivals_of(candidates);
  EXPECT_EQ(rivals.best, 1.0);
  EXPECT_EQ(rivals.tactics, std::vector<std::string>(
                                {"cuda.a.lt{n=1}", "cuda.b{n=2}", "cuda.a.lt{n=2}", "cuda.b{}"}));
  EXPECT_EQ(rivals.own, "cuda.b{n=2}");
}

}  // namespace
}  // namespace tenon
