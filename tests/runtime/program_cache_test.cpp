// Programs of shapes that were met: found again, limited in number, and made without a lock that
// others wait for.
#include "runtime/program_cache.h"

#include <gtest/gtest.h>

#include <latch>
#include <new>
#include <thread>

#include "graphs.h"

namespace tenon {
namespace {

std::unique_ptr<Graph> relu_graph() {
  auto graph = std::make_unique<Graph>();
  Value* x = graph->add_input("x", {DataType::kFloat32, {Dim(4)}});
  Value* y = function(*graph, PointwiseFunction::k_relu, {x});
  y->name = "y";
  graph->add_output(y);
  return graph;
}

class Programs : public testing::Test {
 protected:
  void SetUp() override {
    const auto engine = engine_of(relu_graph());
    ASSERT_TRUE(engine.ok()) << engine.error().message;
    engine_ = *engine;
    const auto program = engine_->program({}, 1);
    ASSERT_TRUE(program.ok());
    program_ = *program;
  }

  static ProgramCache::Key key(int64_t rows, const void* owner = nullptr) {
    return {{{"rows", rows}}, 1, owner};
  }
  /// Asks for a program; counts those that were made.
  void ask(const ProgramCache::Key& wanted) {
    const auto found = cache_.find(wanted, [&]() -> ProgramCache::Made {
      ++made_;
      return program_;
    });
    EXPECT_TRUE(found.ok());
  }

  std::shared_ptr<Engine> engine_;
  std::shared_ptr<const Program> program_;
  ProgramCache cache_;
  int made_ = 0;
};

TEST_F(Programs, AreMadeOnceForEachKey) {
  for (int turn = 0; turn < 3; ++turn)
    for (int64_t rows = 0; rows < 20; ++rows) ask(key(rows));
  EXPECT_EQ(made_, 20);
  ask({{{"rows", 1}}, 2, nullptr});
  ask(key(1, this));
  EXPECT_EQ(made_, 22);
}

TEST_F(Programs, AreLimitedAndTheOldestGo) {
  for (int64_t rows = 0; rows < 1000; ++rows) {
    ask(key(-1));
    ask(key(rows));
  }
  EXPECT_EQ(cache_.size(), ProgramCache::kMost);
  EXPECT_EQ(made_, 1001) << "the one that is used all the time was made again";
  ask(key(0));
  EXPECT_EQ(made_, 1002);
}

TEST_F(Programs, OfOneOwnerAreForgottenAlone) {
  ask(key(1));
  ask(key(1, this));
  cache_.forget(this);
  ask(key(1));
  EXPECT_EQ(made_, 2);
  cache_.clear();
  EXPECT_EQ(cache_.size(), 0u);
}

TEST_F(Programs, AreFoundAndMadeWhileAnotherOneIsBeingMade) {
  ask(key(1));
  std::latch begun(1), end(1);
  std::thread slow([&] {
    const auto made = cache_.find(key(2), [&]() -> ProgramCache::Made {
      begun.count_down();
      end.wait();
      return program_;
    });
    EXPECT_TRUE(made.ok());
  });
  begun.wait();
  // These would never return if they waited for it.
  ask(key(1));
  ask(key(3));
  EXPECT_EQ(made_, 2);
  std::thread same([&] { ask(key(2)); });
  end.count_down();
  slow.join();
  same.join();
  EXPECT_EQ(made_, 2) << "the same program was made twice";
}

TEST_F(Programs, ThatFailAreTriedAgain) {
  const auto failed =
      cache_.find(key(1), [&]() -> ProgramCache::Made { return user_error("not today"); });
  EXPECT_FALSE(failed.ok());
  const auto no_memory =
      cache_.find(key(1), [&]() -> ProgramCache::Made { throw std::bad_alloc(); });
  ASSERT_FALSE(no_memory.ok());
  EXPECT_EQ(no_memory.error().kind, ErrorKind::kResource);
  ask(key(1));
  EXPECT_EQ(made_, 1);
}

}  // namespace
}  // namespace tenon
