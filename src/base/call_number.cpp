#include "base/call_number.h"

namespace tenon {
namespace {

/// Callbacks are handed their subject, and no call.
thread_local uint64_t number_of_thread = 0;

}  // namespace

uint64_t call_number() {
  return number_of_thread;
}

void set_call_number(uint64_t number) {
  number_of_thread = number;
}

}  // namespace tenon
