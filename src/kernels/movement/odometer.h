#pragma once

#include <array>
#include <cstdint>
#include <vector>

namespace tenon::cpu {

/// Walks over nested axes, slowest first, keeping N offsets that go with them.
template <int N> class Odometer {
 public:
  Odometer(const std::vector<int64_t>& extents,
           const std::array<const std::vector<int64_t>*, N>& strides, int64_t start)
      : extents_(extents), strides_(strides), position_(extents.size()) {
    for (size_t axis = extents.size(); axis-- > 0;) {
      position_[axis] = start % extents[axis];
      start /= extents[axis];
      for (int i = 0; i < N; ++i) at[i] += position_[axis] * (*strides[i])[axis];
    }
  }
  void next() {
    for (size_t axis = extents_.size(); axis-- > 0;) {
      for (int i = 0; i < N; ++i) at[i] += (*strides_[i])[axis];
      if (++position_[axis] < extents_[axis]) return;
      position_[axis] = 0;
      for (int i = 0; i < N; ++i) at[i] -= extents_[axis] * (*strides_[i])[axis];
    }
  }

  std::array<int64_t, N> at{};

 private:
  const std::vector<int64_t>& extents_;
  std::array<const std::vector<int64_t>*, N> strides_;
  std::vector<int64_t> position_;
};

}  // namespace tenon::cpu
