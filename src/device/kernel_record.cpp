#include "device/kernel_record.h"

#include <algorithm>

#include "base/arithmetic.h"

namespace tenon {
namespace {

constexpr int64_t kWarp = 32;
/// Registers are given to warps in pieces of so many.
constexpr int64_t kRegisterPiece = 256;

}  // namespace

void set_occupancy(KernelRecord& record, const MultiprocessorLimits& limits) {
  const int64_t threads = record.block[0] * record.block[1] * record.block[2];
  if (limits.threads <= 0 || limits.blocks <= 0 || threads <= 0) return;
  const int64_t warps = ceil_div(threads, kWarp);
  int64_t held = std::min(limits.blocks, limits.threads / (warps * kWarp));
  if (limits.registers > 0 && record.registers > 0)
    held = std::min(
        held, limits.registers / (warps * round_up(record.registers * kWarp, kRegisterPiece)));
  const int64_t shared = record.shared_bytes + limits.reserved_bytes;
  if (limits.shared_bytes > 0 && shared > 0) held = std::min(held, limits.shared_bytes / shared);
  record.occupancy =
      static_cast<double>(held * warps) / (static_cast<double>(limits.threads) / kWarp);
  const double blocks = static_cast<double>(record.grid[0]) * static_cast<double>(record.grid[1]) *
                        static_cast<double>(record.grid[2]);
  if (held > 0 && limits.count > 0)
    record.waves = blocks / static_cast<double>(held * limits.count);
}

}  // namespace tenon
