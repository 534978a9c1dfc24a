#include "tenon/callbacks.h"

#include "base/call_number.h"

namespace tenon {

__attribute__((visibility("default"))) void setCallNumber(uint64_t number) noexcept {
  set_call_number(number);
}

__attribute__((visibility("default"))) uint64_t callNumber() noexcept {
  return call_number();
}

}  // namespace tenon
