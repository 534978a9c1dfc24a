// Kernels on the host's cores are timed beside whatever else runs there.
#include "select/trials.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "made_up_device.h"
#include "plan/concrete_graph.h"

namespace tenon {
namespace {

class HostDevice final : public MadeUpDevice {
 public:
  const Capabilities& capabilities() const override { return kCpuCapabilities; }
  Streams* streams() override { return nullptr; }
  Result<double> time(Queue queue, int repeats, const std::function<Status()>& launch) override {
    ++timed;
    return MadeUpDevice::time(queue, repeats, launch);
  }
  bool is_disturbed = false;  ///< Until "b" runs.
  int timed = 0;
};

/// "a" takes less time than "b", but waits for a core.
class Waiting final : public Kernel {
 public:
  Waiting(HostDevice& device, char name) : device_(device), name_(name) {}
  Status run(const LaunchArguments&) const override {
    device_.is_disturbed &= name_ == 'a';
    device_.launches.push_back(device_.is_disturbed ? 'z' : name_);
    return {};
  }

 private:
  HostDevice& device_;
  char name_;
};

template <char kName> Tactic row(std::string_view name) {
  Tactic tactic = made_up_tactic(name);
  tactic.configs = [](const Problem&) { return std::vector<std::string>{""}; };
  tactic.create = [](const Problem& problem, std::string_view) {
    auto& host = static_cast<HostDevice&>(*problem.device);
    return Result<std::unique_ptr<Kernel>>(std::make_unique<Waiting>(host, kName));
  };
  return tactic;
}

TEST(Trials, KernelsThatMayHaveWaitedForCoresAreTimedAgain) {
  auto graph = parse_graph("graph \"\" (%0 \"x\": f32[8]) { %1 = exp(%0) : f32[8] return %1}");
  ASSERT_TRUE(graph.ok()) << graph.error().message;
  const auto concrete = ConcreteGraph::create(**graph, {});
  ASSERT_TRUE(concrete.ok());
  const auto device = std::make_shared<HostDevice>();
  const std::vector<Tactic> rows = {row<'a'>("cuda.a"), row<'b'>("cuda.b")};
  const Backend backend{.device = device, .tactics = rows};
  const Problem problem = concrete->problem(*(*graph)->nodes().back(), backend, 1);
  device->is_disturbed = true;
  TimingCache cache;
  const auto candidates = list_candidates(backend, problem, {}, cache);
  ASSERT_TRUE(candidates.ok()) << candidates.error().message;
  EXPECT_EQ(candidates->front().tactic, "cuda.a");
  EXPECT_EQ(candidates->front().milliseconds, 1.0);
  // The cache has the later time, and a build with it runs nothing.
  device->timed = 0;
  const auto known = list_candidates(backend, problem, {}, cache);
  ASSERT_TRUE(known.ok()) << known.error().message;
  EXPECT_EQ(known->front().milliseconds, 1.0);
  EXPECT_EQ(device->timed, 0);
}

}  // namespace
}  // namespace tenon
