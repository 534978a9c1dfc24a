#include "tools/interrupt.h"

#include <csignal>

namespace tenon::tools {
namespace {

/// A signal's handler reaches nothing but variables of the whole process.
volatile std::sig_atomic_t pending = 0;

extern "C" void on_interrupt(int) {
  pending = 1;
}

}  // namespace

void watch_interrupts() {
  struct sigaction action {};
  action.sa_handler = on_interrupt;
  action.sa_flags = SA_RESETHAND | SA_RESTART;
  // Shells start programs in the background with the signal ignored.
  struct sigaction before {};
  if (sigaction(SIGINT, nullptr, &before) == 0 && before.sa_handler != SIG_IGN)
    sigaction(SIGINT, &action, nullptr);
}

bool interrupted() {
  return pending != 0;
}

bool is_interrupted(void*) noexcept {
  return interrupted();
}

}  // namespace tenon::tools
