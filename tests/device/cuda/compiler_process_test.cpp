// Signals keep what the application has them do, although NVRTC takes some for itself.
#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "device/cuda/compiler.h"
#include "device/cuda/library_calls.h"
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
    const DeviceCode code{"test.cu", std::string("__global__ void f() {}"), {}, {}};
    if (!compile_device_code(code, 75).ok()) std::exit(2);
  }
  is_over = true;
  watcher.join();
  std::exit(differed ? 1 : 0);
}

/// In a process that has compiled nothing yet.
TEST(CompilerSignals, AreTheApplications) {
  if (!load_nvrtc().ok()) GTEST_SKIP() << "no NVRTC: " << load_nvrtc().error().message;
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(compile_first_programs(), testing::ExitedWithCode(0), "");
}


}  // namespace
}  // namespace tenon::cuda
