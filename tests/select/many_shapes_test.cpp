// Kernels for shapes that a build did not see: the candidates, and the questions that making one
// asks its tactic.
#include <gtest/gtest.h>

#include <atomic>

#include "ir/text.h"
#include "made_up_device.h"
#include "plan/concrete_graph.h"
#include "select/select.h"

namespace tenon {
namespace {

constexpr char kExp[] = "graph \"\" (%0 \"x\": f32[8]) { %1 = exp(%0) : f32[8] return %1}";

/// A device that counts how often problems were described.
class Describer : public MadeUpDevice {
 public:
  std::atomic<int> asked = 0, made = 0;
  bool takes = true, creates = true;
};

class Launch final : public Kernel {
 public:
  Launch(Describer& device, char name) : device_(device), name_(name) {}
  Status run(const LaunchArguments&) const override {
    device_.launches.push_back(name_);
    return {};
  }

 private:
  Describer& device_;
  char name_;
};

Describer& describer(const Problem& problem) {
  return static_cast<Describer&>(*problem.device);
}

template <char kName> Tactic row(std::string_view name, TacticTraits traits = {}) {
  Tactic tactic = cpu_tactics().back();
  tactic.name = name;
  tactic.device = DeviceKind::kCuda;
  tactic.traits = traits;
  tactic.configs = single_config;
  tactic.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
    return std::unique_ptr<Kernel>(std::make_unique<Launch>(describer(problem), kName));
  };
  return tactic;
}

class ManyShapes : public testing::Test {
 protected:
  ManyShapes() {
    auto graph = parse_graph(kExp);
    EXPECT_TRUE(graph.ok()) << graph.error().message;
    graph_ = std::move(graph).value();
  }
  Backend backend() const { return {.device = device_, .tactics = rows_}; }
  std::string taken(const SelectOptions& options) {
    const Status status = select_tactics(*graph_, backend(), {}, options, cache_);
    EXPECT_TRUE(status.ok()) << status.error().message;
    return graph_->nodes()[0]->tactic;
  }

  std::shared_ptr<Describer> device_ = std::make_shared<Describer>();
  Tactic fast_ = row<'a'>("cuda.fast", {.planned_each = true}), slow_ = row<'z'>("cuda.z");
  std::vector<Tactic> rows_ = {fast_, slow_, cpu_tactics().back()};
  TimingCache cache_;
  std::unique_ptr<Graph> graph_;
};

TEST_F(ManyShapes, AreNotForKernelsThatALibraryPlansForEach) {
  EXPECT_EQ(taken({}), "cuda.fast");
  EXPECT_EQ(taken({.many_shapes = true}), "cuda.z");
  EXPECT_EQ(taken({}), "cuda.fast") << "of the same timing cache";
}

TEST_F(ManyShapes, HaveSuchKernelsWhereOthersAreFallbacks) {
  rows_ = {fast_, row<'z'>("cuda.z", {.fallback = Fallback::kSlow}), cpu_tactics().back()};
  EXPECT_EQ(taken({.many_shapes = true}), "cuda.fast");
}

/// The row of the other kernel may stand anywhere.
TEST_F(ManyShapes, AndOneNeedNoKernelsThatOthersOutdoInF32) {
  rows_ = {row<'a'>("cuda.fast", {.outdone_in_f32_by = "cuda.z"}), slow_, cpu_tactics().back()};
  const auto taken_with = [&](bool tf32) {
    Backend with = backend();
    with.numerics.tf32 = tf32;
    EXPECT_TRUE(select_tactics(*graph_, with, {}, {}, cache_).ok());
    return graph_->nodes()[0]->tactic;
  };
  EXPECT_EQ(taken_with(true), "cuda.fast");
  EXPECT_EQ(taken_with(false), "cuda.z");
  rows_.erase(rows_.begin() + 1);
  EXPECT_EQ(taken_with(false), "cuda.fast") << "nothing is left out for a kernel that is not there";
}

/// Work that must not run beside trials comes between the lists and the trials.
TEST_F(ManyShapes, NoneIsTriedBeforeTheWorkAheadOfTrials) {
  int times = 0;
  size_t launched = 0;
  SelectOptions options;
  options.before_trials = [&] {
    ++times;
    launched += device_->launches.size();
  };
  EXPECT_EQ(taken(options), "cuda.fast");
  EXPECT_EQ(times, 1);
  EXPECT_EQ(launched, 0);
  EXPECT_FALSE(device_->launches.empty());
}

/// A tactic of our own that describes its problem in both functions.
class OneKernel : public ManyShapes {
 protected:
  OneKernel() {
    slow_.takes = [](const Problem& problem) {
      ++describer(problem).asked;
      return describer(problem).takes ? Support{} : Support::no("other extents");
    };
    slow_.create = [](const Problem& problem, std::string_view) -> Result<std::unique_ptr<Kernel>> {
      if (!describer(problem).creates) return unsupported("not here");
      ++describer(problem).made;
      return std::unique_ptr<Kernel>(std::make_unique<Launch>(describer(problem), 'z'));
    };
    rows_ = {row<'a'>("cuda.other"), slow_, cpu_tactics().back()};
    graph_->nodes()[0]->tactic = "cuda.z";
  }

  class Warnings final : public Application {
   public:
    void* error_recorder() const override { return nullptr; }
    void warn(const std::string& message) const override { text += message, ++count; }
    mutable std::string text;
    mutable int count = 0;
  };

  /// The launches of one kernel, under a choice for some shapes if there is one.
  Launches made(const TacticTable* choice = nullptr) {
    Backend here = backend();
    here.tactics_here = choice;
    here.application = warnings_;
    here.substitutes = told_;
    const auto concrete = ConcreteGraph::create(*graph_, {});
    EXPECT_TRUE(concrete.ok());
    const Node& node = *graph_->nodes()[0];
    const auto kernel = make_kernel(here, node, concrete->problem(node, here, 1));
    EXPECT_TRUE(kernel.ok()) << kernel.error().message;
    device_->launches.clear();
    EXPECT_TRUE((*kernel)->run({}).ok());
    return device_->launches;
  }

  std::shared_ptr<Warnings> warnings_ = std::make_shared<Warnings>();
  std::shared_ptr<ToldOnce> told_ = std::make_shared<ToldOnce>();  ///< Of one plan.
};

TEST_F(OneKernel, IsDescribedOnce) {
  EXPECT_EQ(made(), Launches({'z'}));
  EXPECT_EQ(device_->made, 1);
  EXPECT_EQ(device_->asked, 0);
}

TEST_F(OneKernel, GivesWayWithoutAWordWhereItsTacticDoesNotTakeTheExtents) {
  device_->takes = device_->creates = false;
  EXPECT_EQ(made(), Launches({'a'}));
  EXPECT_EQ(warnings_->text, "");
}

TEST_F(OneKernel, ThatFailsIsToldOf) {
  device_->creates = false;
  EXPECT_EQ(made(), Launches({'a'}));
  EXPECT_NE(warnings_->text.find("not here"), std::string::npos) << warnings_->text;
}

TEST_F(OneKernel, ThatFailsForManyShapesIsToldOfOnceAPlan) {
  device_->creates = false;
  made();
  made();
  EXPECT_EQ(warnings_->count, 1);
  told_ = std::make_shared<ToldOnce>();
  made();
  EXPECT_EQ(warnings_->count, 2);
}

TEST_F(OneKernel, IsNotReplacedByOneOfABarredOrigin) {
  device_->takes = device_->creates = false;
  rows_ = {row<'a'>("cuda.library", {.origin = TacticOrigin::kCublasLt}), slow_,
           row<'b'>("cuda.other"), cpu_tactics().back()};
  EXPECT_EQ(made(), Launches({'a'}));
  Backend here = backend();
  here.notes = {{TacticOrigin::kCublasLt, "no library"}, {TacticOrigin::kOwn, "no compiler"}};
  ASSERT_TRUE(bar_origins(here, "cudnn,cublaslt").ok());
  EXPECT_EQ(here.find("cuda.library"), nullptr);
  EXPECT_NE(here.find("cuda.other"), nullptr);
  EXPECT_EQ(here.notes.size(), 1U);
  rows_.assign(here.tactics.begin(), here.tactics.end());
  EXPECT_EQ(made(), Launches({'b'}));
  const Status unknown = bar_origins(here, "cudnn,magic");
  ASSERT_FALSE(unknown.ok());
  EXPECT_NE(unknown.error().message.find("'magic'"), std::string::npos);
}

TEST_F(OneKernel, IsNotReplacedByOneThatIsPlannedWhereShapesVary) {
  device_->takes = device_->creates = false;
  rows_ = {row<'a'>("cuda.planned", {.planned_each = true}), slow_, row<'b'>("cuda.other"),
           cpu_tactics().back()};
  EXPECT_EQ(made(), Launches({'a'}));
  const TacticTable choice;
  EXPECT_EQ(made(&choice), Launches({'b'}));
}

TEST_F(OneKernel, OfALibraryIsAskedFirst) {
  rows_[1].traits.origin = TacticOrigin::kCudnn;
  device_->takes = false;
  EXPECT_EQ(made(), Launches({'a'}));
  EXPECT_EQ(device_->made, 0);
}

}  // namespace
}  // namespace tenon
