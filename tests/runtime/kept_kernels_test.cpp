// The kept kernels among those of many extents.
#include "runtime/kept_kernels.h"

#include <gtest/gtest.h>

namespace tenon {
namespace {

struct Probe {
  explicit Probe(int& living) : living_(living) { ++living_; }
  ~Probe() { --living_; }
  Probe(const Probe&) = delete;

 private:
  int& living_;
};
using Kept = KeptKernels<Probe>;

void add(Kept& kept, int key, int& living, size_t bytes) {
  kept.add(std::to_string(key), std::make_unique<Probe>(living), bytes);
  kept.drop_oldest();
}

TEST(KeptKernels, AreThoseUsedLast) {
  int living = 0;
  Kept kept;
  for (int i = 0; i < 300; ++i) {
    add(kept, i, living, 0);
    EXPECT_NE(kept.find("0"), nullptr);
  }
  EXPECT_EQ(living, static_cast<int>(Kept::kMost));
  EXPECT_NE(kept.find("299"), nullptr);
  EXPECT_EQ(kept.find("1"), nullptr);
}

TEST(KeptKernels, AreFewWhereTheyOwnMuch) {
  int living = 0;
  Kept kept;
  for (int i = 0; i < 20; ++i) add(kept, i, living, Kept::kMostBytes);
  EXPECT_EQ(living, static_cast<int>(Kept::kFew));
  EXPECT_NE(kept.find("19"), nullptr);
}

}  // namespace
}  // namespace tenon
