// The loops of gemm/hopper.cu over tiles, stages and turns, on the host, under numbers of rows that
// leave blocks, groups or turns without tiles: each tile is computed once, of its own operands, and
// no wait is endless.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "kernels/gemm/hopper_tiling_cuda.h"
#include "kernels/jit/host_block.h"

namespace tenon {
namespace {

using namespace host_block;
using u16 = unsigned short;
using std::min;

int rows = 0;  ///< Of the left operand.

void cluster_start() {}
void barrier_wait_cluster(u32, u32) {}
void barrier_of(int number, int count) {
  barriers->wait_of(number, count);
}
void barrier_arrive_of(int number, int count) {
  barriers->arrive_of(number, count);
}
void fetch_box(u32, const TensorMap&, u32, int, int, int) {}
u32 address_in_block(u32 address, u32) {
  return address;
}
template <class T> void send_to_block(u32, const T*, u32) {}
void load_shared(float (&)[4], u32) {}
template <int> void take_registers() {}
template <int> void leave_registers() {}

namespace plain {
#define KERNEL run_plain
#define GROUPS 2
#define TURNS 1
#define STAGES 3
#define HOLDS false
#define BLOCKS_K 1
#include "kernels/jit/hopper_on_host.inc"
}  // namespace plain
#undef KERNEL
#undef BLOCKS_K
#define BLOCKS_K 2
namespace walking {
#define WALKS
#define KERNEL run_walking
#include "kernels/jit/hopper_on_host.inc"
}  // namespace walking
#undef KERNEL
#undef GROUPS
#undef TURNS
namespace in_turns {
#define KERNEL run_in_turns
#define GROUPS 3
#define TURNS 3
#include "kernels/jit/hopper_on_host.inc"
}  // namespace in_turns
#undef KERNEL
#undef HOLDS
#undef STAGES
#undef BLOCKS_K
namespace holding {
#define KERNEL run_holding
#define HOLDS true
#define STAGES 2
#define BLOCKS_K 3
#include "kernels/jit/hopper_on_host.inc"
}  // namespace holding

/// Of few rows up to several tiles for each block and turn.
template <class Check> void for_each_launch(int rows_of_tile, const Check& check) {
  for (const int units : {1, 2, 5})
    for (const int tiles : {1, 2, 3, 4, 7})
      for (const int rows : {(tiles - 1) * rows_of_tile + 1, tiles * rows_of_tile}) {
        check(rows, units);
        if (testing::Test::HasFailure()) return;
      }
}

TEST(HopperOnHost, TilesOfAllGroups) {
  for_each_launch(128,
                  [](int rows, int units) { plain::expect_each_tile_once(rows, units, false); });
}
TEST(HopperOnHost, TilesForwardsAndBackwards) {
  for (const bool backwards : {false, true})
    for_each_launch(
        128, [&](int rows, int units) { walking::expect_each_tile_once(rows, units, backwards); });
}
TEST(HopperOnHost, TilesInTurns) {
  for (const bool backwards : {false, true})
    for_each_launch(
        64, [&](int rows, int units) { in_turns::expect_each_tile_once(rows, units, backwards); });
}
TEST(HopperOnHost, TilesUnderColumnsThatStay) {
  for (const bool backwards : {false, true})
    for_each_launch(
        64, [&](int rows, int units) { holding::expect_each_tile_once(rows, units, backwards); });
}

}  // namespace
}  // namespace tenon
