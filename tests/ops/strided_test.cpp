#include "ops/strided.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

namespace tenon {
namespace {

/// Dense, the axes in the order of `axes` from the slowest to the fastest.
Strides strides_in(const Extents& extents, const std::vector<size_t>& axes) {
  Strides strides(extents.size());
  int64_t step = 1;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    strides[*axis] = step;
    step *= extents[*axis];
  }
  return strides;
}

int64_t place_of(const Extents& position, const Strides& strides) {
  return std::inner_product(position.begin(), position.end(), strides.begin(), int64_t{0});
}

TEST(Strided, CopiesInAnyOrderOfAxes) {
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    Extents extents(1 + random() % 5);
    for (int64_t& extent : extents) extent = 1 + static_cast<int64_t>(random() % 12);
    extents[random() % extents.size()] = 1 + static_cast<int64_t>(random() % 200);
    std::vector<size_t> axes(extents.size());
    std::iota(axes.begin(), axes.end(), 0);
    std::shuffle(axes.begin(), axes.end(), random);
    const Strides from = strides_in(extents, axes);
    std::shuffle(axes.begin(), axes.end(), random);
    const Strides to = i % 2 == 0 ? row_major_strides(extents) : strides_in(extents, axes);
    const int64_t count = element_count(extents);
    const int bytes = 1 << random() % 4;
    std::vector<std::byte> source(static_cast<size_t>(count * bytes)), copy(source.size());
    for (std::byte& byte : source) byte = static_cast<std::byte>(random());
    strided_copy(copy.data(), to, source.data(), from, extents, bytes);
    Extents position(extents.size(), 0);
    do {
      ASSERT_EQ(
          std::memcmp(copy.data() + place_of(position, to) * bytes,
                      source.data() + place_of(position, from) * bytes, static_cast<size_t>(bytes)),
          0)
          << i;
    } while (advance(position, extents));
  }
}

}  // namespace
}  // namespace tenon
