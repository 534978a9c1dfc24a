// Objects that outlive main see that the process ends, and leaves libraries' handles alone.
#include "device/cuda/process_end.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace tenon::cuda {
namespace {

struct Probe {
  ~Probe() { std::fprintf(stderr, "%s", process_is_ending() ? "at the end" : "before"); }
};

/// Made by a static object after its own construction, as a device makes a library's handle.
void end_with_static_owner() {
  static const Probe probe;
  watch_process_end();
  std::exit(0);
}

TEST(ProcessEnd, IsSeenByWhatOutlivesMain) {
  EXPECT_FALSE(process_is_ending());
  EXPECT_EXIT(end_with_static_owner(), testing::ExitedWithCode(0), "at the end");
}

TEST(ProcessEnd, IsNotBeforeMainEnds) {
  watch_process_end();
  EXPECT_FALSE(process_is_ending());
}

}  // namespace
}  // namespace tenon::cuda
