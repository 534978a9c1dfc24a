#include "failures.h"

#include <gtest/gtest.h>

#include <cinttypes>
#include <cstdio>

#include "allocations.h"

namespace reliability {
namespace {

/// Whether another failure of the n-th allocation leaves memory behind too: once is a cache that
/// was filled later than usual.
bool leaks_again(int64_t n, const std::function<bool()>& f) {
  const int64_t before = live_allocations();
  fail_allocation(n);
  (void)f();
  (void)end_of_failures();
  return live_allocations() > before;
}

}  // namespace

void expect_errors(const std::string& name, Errors& log, CountingRecorder* recorder,
                   const std::function<bool()>& f, bool may_leak) {
  SCOPED_TRACE(name);
  // The first calls fill caches of the process.
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(f()) << "without a failure";
  int64_t n = 1, silent = 0, errors = 0, leaks = 0, live = live_allocations();
  for (;; ++n) {
    log.count = 0;
    if (recorder != nullptr) recorder->count = 0;
    fail_allocation(n);
    const bool done = f();
    if (!end_of_failures()) break;
    errors += !done;
    if (!done && (log.count == 0 || (recorder != nullptr && recorder->count == 0))) {
      ++silent;
      ADD_FAILURE() << "allocation " << n << " failed without an error";
    }
    if (!may_leak && live_allocations() != live && leaks_again(n, f)) {
      ++leaks;
      ADD_FAILURE() << "allocation " << n << " leaks";
    }
    ASSERT_LT(leaks + silent, 10);
    live = live_allocations();
  }
  EXPECT_GT(errors, 0);
  EXPECT_TRUE(f()) << "works again";
  std::printf("%s: %" PRId64 " allocations failed in turn, %" PRId64 " gave errors\n", name.c_str(),
              n - 1, errors);
}

}  // namespace reliability
