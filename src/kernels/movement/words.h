#pragma once

#include <cstdint>

namespace tenon::cpu {

/// f of a word that has an element's size: of 1, 2, 4 or 8 bytes. Elements are moved as such,
/// whatever they mean.
template <class F> auto with_word(int bytes, const F& f) {
  switch (bytes) {
    case 1: return f(uint8_t());
    case 2: return f(uint16_t());
    case 4: return f(uint32_t());
    default: return f(uint64_t());
  }
}

}  // namespace tenon::cpu
