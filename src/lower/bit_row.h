#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/arithmetic.h"

namespace tenon {

/// A set of the numbers below `size`, joined with another one a word at a time.
class BitRow {
 public:
  explicit BitRow(size_t size) : words_(ceil_div(size, kBits)) {}
  bool test(size_t i) const { return (words_[i / kBits] >> (i % kBits) & 1) != 0; }
  void set(size_t i) { words_[i / kBits] |= uint64_t{1} << (i % kBits); }
  /// `other` is of the same size.
  void join(const BitRow& other) {
    for (size_t i = 0; i < words_.size(); ++i) words_[i] |= other.words_[i];
  }

 private:
  static constexpr size_t kBits = 64;
  std::vector<uint64_t> words_;
};

}  // namespace tenon
