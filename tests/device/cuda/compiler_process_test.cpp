// The process is the application's while NVRTC compiles: its signals, its limits and its end.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <string>
#include <thread>

#include "device/cuda/compiler.h"
#include "device/cuda/nvrtc.h"

namespace tenon::cuda {
namespace {

struct sigaction action_of(int signal) {
  struct sigaction action {};
  sigaction(signal, nullptr, &action);
  return action;
}

bool is_same(const struct sigaction& a, const struct sigaction& b) {
  return a.sa_sigaction == b.sa_sigaction && a.sa_flags == b.sa_flags;
}

DeviceCode code_number(int number) {
  return {"test.cu", fmt::format("__global__ void f{}() {{}}", number), {}, {}};
}

/// Ends with 0 where no signal's action differed at any time, until two compilers each had compiled
/// their first program.
[[noreturn]] void compile_first_programs() {
  setenv("TENON_CACHE_DIR", "", 1);
  struct sigaction own {};
  own.sa_sigaction = [](int, siginfo_t*, void*) {};
  own.sa_flags = SA_SIGINFO | SA_RESETHAND;
  sigaction(SIGINT, &own, nullptr);
  const struct sigaction interrupt = action_of(SIGINT), end = action_of(SIGTERM);
  std::atomic<bool> is_over = false, differed = false;
  std::jthread watcher([&] {
    do {
      if (!is_same(action_of(SIGINT), interrupt) || !is_same(action_of(SIGTERM), end))
        differed = true;
    } while (!is_over);
  });
  {
    const std::jthread other([] { copy_nvrtc(**load_nvrtc(), 8); });
    if (!compile_device_code(code_number(0), 75).ok()) std::exit(2);
  }
  is_over = true;
  watcher.join();
  std::exit(differed ? 1 : 0);
}

/// Ends with 0 where compilations leave the limit of the stack and the text of ctime().
[[noreturn]] void compile_beside_state() {
  setenv("TENON_CACHE_DIR", "", 1);
  rlimit before{}, behind{};
  getrlimit(RLIMIT_STACK, &before);
  before.rlim_cur = std::min<rlim_t>(before.rlim_cur, 8 << 20);
  setrlimit(RLIMIT_STACK, &before);
  const time_t beginning = 0;
  const char* const text = std::ctime(&beginning);
  const std::string own = text;
  if (!compile_device_code(code_number(0), 75).ok()) std::exit(2);
  const DeviceCode wrong{"test.cu", std::string("#include \"missing.cuh\""), {}, {}};
  if (compile_device_code(wrong, 75).ok()) std::exit(3);
  getrlimit(RLIMIT_STACK, &behind);
  std::exit(behind.rlim_cur == before.rlim_cur && text == own ? 0 : 1);
}

/// Calls exit() while threads compile, and others wait for a compiler.
[[noreturn]] void end_beside_compilations() {
  setenv("TENON_CACHE_DIR", "", 1);
  std::atomic<int> begun = 0;
  for (int thread = 0; thread < 12; ++thread)
    std::thread([&] {
      while (compile_device_code(code_number(++begun), 75).ok()) {
      }
    }).detach();
  while (begun < 40) std::this_thread::yield();
  std::exit(0);
}

/// In a process that has compiled nothing yet.
TEST(CompilerProcess, SignalsAreTheApplications) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(compile_first_programs(), testing::ExitedWithCode(0), "");
}

TEST(CompilerProcess, StateIsTheApplications) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(compile_beside_state(), testing::ExitedWithCode(0), "");
}

TEST(CompilerProcess, ExitWaitsForThreadsThatCompile) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (int i = 0; i < 2; ++i)
    EXPECT_EXIT(end_beside_compilations(), testing::ExitedWithCode(0), "^$");
}

}  // namespace
}  // namespace tenon::cuda
