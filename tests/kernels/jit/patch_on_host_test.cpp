// The loops of quantized/patch.cu and patch_rolls.cu over tiles, parts of images and lines, on the
// host, under numbers of images that leave blocks or sets without tiles: each result is computed
// once, of its own places, and no wait is endless.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "kernels/jit/host_block.h"

namespace tenon {
namespace {

#define __forceinline__ inline
// Without the instructions, which have values for their compiler alone.
#define asm
#define volatile(...)

using namespace host_block;
using std::min;

struct float4 {
  float x, y, z, w;
};
struct uint4 {
  u32 x, y, z, w;
};

int images = 0;

float __int_as_float(int) {
  return 0;
}
void products_begin() {}
void products_commit() {}

#define PATCH_FILE "kernels/quantized/patch.cu"
namespace flat {
#define KERNEL run_flat
#define FLAT 1
#define LINES 1
#define OUT1 11
#define OUT2 7
#define KERNEL1 1
#define KERNEL2 1
#define GROUPS 2
#define ACROSS 1
#define STAGES 2
#define SLAB 16
#define ADDEND_COMES 0
#include "kernels/jit/patch_on_host.inc"
}  // namespace flat
#undef KERNEL
#undef ACROSS
#undef STAGES
#undef SLAB
#undef ADDEND_COMES
namespace sums {
#define KERNEL run_sums
#define ACROSS 2
#define STAGES 3
#define SLAB 64
#define ADDEND_COMES 1
#include "kernels/jit/patch_on_host.inc"
}  // namespace sums
#undef KERNEL
#undef STAGES
#undef SLAB
#undef ADDEND_COMES
#define STAGES 2
#define SLAB 16
#define ADDEND_COMES 0
#undef FLAT
#undef LINES
#undef KERNEL1
#undef KERNEL2
#undef ACROSS
namespace windows {
#define KERNEL run_windows
#define FLAT 0
#define LINES 7
#define KERNEL1 3
#define KERNEL2 3
#define ACROSS 2
#include "kernels/jit/patch_on_host.inc"
}  // namespace windows
#undef PATCH_FILE
#undef KERNEL
#undef LINES
#undef OUT2
#undef ACROSS
#undef STAGES
#define PATCH_FILE "kernels/quantized/patch_rolls.cu"
#define ROLLS
#define ACROSS 1
namespace rolls {
#define KERNEL run_rolls
#define LINES 2
#define OUT2 70
#define STAGES 3
#include "kernels/jit/patch_on_host.inc"
}  // namespace rolls
#undef KERNEL
#undef KERNEL1
#undef LINES
namespace rolls_of_two {
#define KERNEL run_rolls_of_two
#define KERNEL1 2
#define LINES 5
#include "kernels/jit/patch_on_host.inc"
}  // namespace rolls_of_two

template <class Check> void for_each_launch(const Check& check) {
  for (const int units : {1, 5, 8})
    for (const int count : {1, 2, 3, 9}) {
      check(count, units);
      if (testing::Test::HasFailure()) return;
    }
}

TEST(PatchOnHost, PixelsBehindEachOther) {
  for_each_launch([](int count, int units) { flat::expect_each_result_once(count, units); });
}
TEST(PatchOnHost, PixelsWithAddends) {
  for_each_launch([](int count, int units) { sums::expect_each_result_once(count, units); });
}
TEST(PatchOnHost, LinesOfWindows) {
  for_each_launch([](int count, int units) { windows::expect_each_result_once(count, units); });
}
TEST(PatchOnHost, LinesDownTheImage) {
  for_each_launch([](int count, int units) { rolls::expect_each_result_once(count, units); });
  for_each_launch(
      [](int count, int units) { rolls_of_two::expect_each_result_once(count, units); });
}

}  // namespace
}  // namespace tenon
