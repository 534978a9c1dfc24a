#include "base/guard.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <stdexcept>
#include <system_error>

#include "base/host_memory.h"
#include "base/parallel.h"
#include "base/work_queue.h"

namespace tenon {
namespace {

template <class F> Error error_of(F f) {
  const Status status = guarded("here", [&]() -> Status {
    f();
    return {};
  });
  EXPECT_FALSE(status.ok());
  return status.ok() ? Error{} : status.error();
}

TEST(Guard, GivesResultsOn) {
  EXPECT_EQ(*guarded("here", []() -> Result<int> { return 3; }), 3);
  EXPECT_EQ(guarded("here", []() -> Status { return user_error("no"); }).error().message, "no");
}

TEST(Guard, MemoryIsAnErrorOfResourcesWithItsBytes) {
  const Error known = error_of([] { throw OutOfMemory(int64_t{3} << 30); });
  EXPECT_EQ(known.kind, ErrorKind::kResource);
  EXPECT_EQ(known.message, "here: out of memory on the host: 3221225472 bytes (3.00 GiB) at once");
  // Without a size the error says how much the process has.
  const std::string unknown = error_of([] { throw std::bad_alloc(); }).message;
  EXPECT_TRUE(unknown.starts_with("here: out of memory on the host: ")) << unknown;
  EXPECT_NE(unknown.find(" MiB"), std::string::npos) << unknown;
  EXPECT_EQ(error_of([] { throw std::length_error("x"); }).kind, ErrorKind::kResource);
}

TEST(Guard, ThreadsThatDoNotStartAreAnErrorOfResources) {
  const auto again = std::make_error_code(std::errc::resource_unavailable_try_again);
  EXPECT_EQ(error_of([&] { throw std::system_error(again); }).kind, ErrorKind::kResource);
}

TEST(Guard, OtherExceptionsAreOurFault) {
  EXPECT_EQ(error_of([] { throw std::runtime_error("odd"); }).message, "here: unexpected: odd");
  EXPECT_EQ(error_of([] { throw 3; }).kind, ErrorKind::kInternal);
}

TEST(Parallel, TheFirstExceptionComesOutWhenAllHaveEnded) {
  std::atomic<int> running = 0;
  const auto work = [&](size_t i) {
    ++running;
    if (i % 7 == 3) {
      --running;
      throw OutOfMemory(static_cast<int64_t>(i));
    }
    --running;
  };
  EXPECT_THROW(for_each_parallel(100, 4, work), OutOfMemory);
  EXPECT_EQ(running, 0);
  std::atomic<int> done = 0;
  for_each_parallel(100, 4, [&](size_t) { ++done; });
  EXPECT_EQ(done, 100);
}

TEST(WorkQueue, AnExceptionComesOutWhereResultsAreTaken) {
  WorkQueue work_queue(2, [](size_t task) {
    if (task == 5) throw OutOfMemory(5);
  });
  for (size_t task = 0; task < 10; ++task) work_queue.add(task);
  int thrown = 0, taken = 0;
  for (int i = 0; i < 10; ++i) {
    try {
      EXPECT_TRUE(work_queue.take_done().has_value());
      ++taken;
    } catch (const OutOfMemory&) {
      ++thrown;
    }
  }
  EXPECT_EQ(thrown, 1);
  EXPECT_EQ(taken, 9);
  EXPECT_FALSE(work_queue.take_done().has_value());
}

TEST(WorkQueue, WithoutThreadsTasksAreDoneWhereTheyAreTaken) {
  std::set<size_t> done;
  WorkQueue work_queue(0, [&](size_t task) { done.insert(task); });
  for (size_t task = 0; task < 4; ++task) work_queue.add(task);
  while (work_queue.take_done().has_value()) continue;
  EXPECT_EQ(done, (std::set<size_t>{0, 1, 2, 3}));
}

TEST(HostMemory, ThereIsSomeAndNotAnyAmount) {
  EXPECT_GT(available_host_memory(), 1 << 20);
  EXPECT_TRUE(fits_host_memory(1 << 20));
  EXPECT_FALSE(fits_host_memory(int64_t{1} << 60));
}

}  // namespace
}  // namespace tenon
