#pragma once

#include <cstdint>
#include <utility>

namespace tenon {

/// The number that the application gave to this thread, or to the thread that this one works for; 0
/// for none.
uint64_t call_number();
void set_call_number(uint64_t number);

/// `work` for a new thread, which takes this thread's number.
template <class Work> auto with_call_number(Work work) {
  return [number = call_number(), work = std::move(work)] {
    set_call_number(number);
    return work();
  };
}

}  // namespace tenon
