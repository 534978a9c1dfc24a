#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"

/// Rows whose elements come from the same places of each row of the source, as the channels of a
/// channels-last image that are shuffled.
namespace tenon::cpu {

/// Elements that a vector of the row takes from kPickedLanes places of the source, one behind the
/// other.
inline constexpr int kPickedLanes = 16;
struct PickedPart {
  alignas(64) int32_t places[kPickedLanes] = {};  ///< Where from, for each lane taken.
  int64_t first = 0;                              ///< Of the places.
  uint16_t read = 0, taken = 0;                   ///< Places and lanes, a bit each.
};

/// Some rows of elements of 4 bytes. Strides in elements.
struct PickedPiece {
  std::span<const PickedPart> parts;  ///< In order of the lanes' vectors.
  const uint32_t* from;
  uint32_t* to;  ///< The first lane of the vector.
  int64_t rows, from_stride, to_stride;
};

using PickFunction = void (*)(const PickedPiece& piece, int lanes);
void pick_rows_avx512(const PickedPiece& piece, int lanes);

class PickedRows {
 public:
  /// `places` of the source for each element of a row; nothing without vectors that permute.
  static std::optional<PickedRows> make(std::span<const int64_t> places, Isa isa);
  void run(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride, int64_t rows,
           ThreadPool& pool) const;

 private:
  PickFunction pick_ = nullptr;
  int64_t columns_ = 0;
  std::vector<PickedPart> parts_;
  std::vector<size_t> ends_;  ///< In `parts_`, of each vector.
};

}  // namespace tenon::cpu
