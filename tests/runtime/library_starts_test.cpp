// Libraries that a plan's kernels come from get ready on threads of their own while it loads.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "graphs.h"
#include "plan/plan_file.h"

namespace tenon {
namespace {

struct Seen {
  std::atomic<int> starts = 0;
  std::atomic<std::thread::id> thread;
} seen;

Status start_slowly(Device&) {
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  seen.thread = std::this_thread::get_id();
  ++seen.starts;
  return {};
}

Status fail(Device&) {
  ++seen.starts;
  return internal_error("a library that does not start");
}

/// The processor's, all rows but the reference from `origin`.
Backend backend_from(TacticOrigin origin, std::vector<LibraryStart> starts) {
  Backend backend = cpu_backend(1);
  std::vector<Tactic> rows(backend.tactics.begin(), backend.tactics.end());
  for (Tactic& row : rows)
    if (row.traits.fallback != Fallback::kAnything) row.traits.origin = origin;
  backend.rows = std::make_shared<const std::vector<Tactic>>(std::move(rows));
  backend.tactics = *backend.rows;
  backend.starts = std::move(starts);
  return backend;
}

class LibraryStarts : public testing::Test {
 protected:
  void SetUp() override {
    seen.starts = 0;
    auto graph = std::make_unique<Graph>();
    Value* x = graph->add_input("x", {DataType::kFloat32, {Dim(2), Dim(3)}});
    Value* y = function(*graph, PointwiseFunction::k_relu, {x});
    y->name = "y";
    graph->add_output(y);
    const auto engine = engine_of(std::move(graph), {});
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    plan_ = copy_of((*engine)->plan());
  }

  void make_context(Backend backend) {
    const auto engine = Engine::create(copy_of(plan_), std::move(backend));
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    const auto context = Context::create(*engine, 1);
    ASSERT_TRUE(context.ok()) << context.error().message;
    EXPECT_TRUE((*context)->get_ready().ok());
  }

  Plan plan_;
};

TEST_F(LibraryStarts, IsOverWhenAContextIsReady) {
  make_context(backend_from(TacticOrigin::kCublasLt, {{TacticOrigin::kCublasLt, start_slowly}}));
  EXPECT_EQ(seen.starts, 1);
  EXPECT_NE(seen.thread.load(), std::this_thread::get_id());
}

TEST_F(LibraryStarts, IsLeftOutWherePlansDoWithoutTheLibrary) {
  make_context(backend_from(TacticOrigin::kCudnn, {{TacticOrigin::kCublasLt, start_slowly}}));
  EXPECT_EQ(seen.starts, 0);
}

TEST_F(LibraryStarts, BeginsOnceThoughItBeganAheadOfThePlan) {
  Backend backend =
      backend_from(TacticOrigin::kCublasLt, {{TacticOrigin::kCublasLt, start_slowly}});
  const auto file = write_plan(plan_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  const auto needs = peek_plan_needs(*file);
  ASSERT_TRUE(needs.has_value());
  EXPECT_EQ(needs->device, DeviceKind::kCpu);
  auto starts = std::make_unique<tenon::LibraryStarts>();
  starts->begin(backend, needs->tactics);
  const auto engine = Engine::create(copy_of(plan_), std::move(backend), true, std::move(starts));
  ASSERT_TRUE(engine.ok()) << engine.error().message;
  (*engine)->end_starts();
  EXPECT_EQ(seen.starts, 1);
}

TEST_F(LibraryStarts, ArePeekedAtInSoundDescriptionsAlone) {
  auto file = write_plan(plan_);
  ASSERT_TRUE(file.ok()) << file.error().message;
  LargeBytes bytes = std::move(file).value();
  EXPECT_FALSE(peek_plan_needs(std::span(bytes).first(100)).has_value());
  std::fill_n(bytes.begin() + kPlanPage, 64, std::byte{0xff});
  EXPECT_FALSE(peek_plan_needs(bytes).has_value());
}

TEST_F(LibraryStarts, MayFail) {
  make_context(backend_from(TacticOrigin::kCublasLt, {{TacticOrigin::kCublasLt, fail}}));
  EXPECT_EQ(seen.starts, 1);
}

TEST_F(LibraryStarts, AreAllBegunByABuildAndTheCompilerByNoPlan) {
  const Backend backend = backend_from(
      TacticOrigin::kOwn, {{TacticOrigin::kOwn, start_slowly}, {TacticOrigin::kCublasLt, fail}});
  make_context(backend);
  EXPECT_EQ(seen.starts, 0);
  tenon::LibraryStarts starts;
  starts.begin_all(backend);
  starts.end();
  EXPECT_EQ(seen.starts, 2);
}

TEST_F(LibraryStarts, GoesWithABarredOrigin) {
  Backend backend = backend_from(TacticOrigin::kOwn, {{TacticOrigin::kCublasLt, start_slowly}});
  ASSERT_TRUE(bar_origins(backend, "cublaslt").ok());
  EXPECT_TRUE(backend.starts.empty());
}

}  // namespace
}  // namespace tenon
