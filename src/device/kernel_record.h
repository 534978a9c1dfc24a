#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace tenon {

/// One kernel of a recorded run on a GPU.
struct KernelRecord {
  std::string range;            ///< The range around its launch (Streams::push_range), or empty.
  std::string name;             ///< Of the function.
  double start_ms = 0, ms = 0;  ///< From the first kernel's start; duration.
  std::array<int64_t, 3> grid{1, 1, 1}, block{1, 1, 1};
  int64_t stream = 0;        ///< A number of the driver's.
  int64_t registers = 0;     ///< Of a thread.
  int64_t shared_bytes = 0;  ///< Of a block, static and dynamic.
  int64_t local_bytes = 0;   ///< Of a thread: spilled registers and arrays.
  double occupancy = 0;      ///< Warps that a multiprocessor holds at a time, of those it could.
  double waves = 0;          ///< Blocks over those that the GPU holds at a time.
  /// By the GPU's counters; negative where they were not read.
  double bytes_read = -1, bytes_written = -1;  ///< Of the GPU's memory.
  /// Of the cycles that multiprocessors are at work, those of their tensor cores.
  double tensor_share = -1;
};

struct KernelRecords {
  std::vector<KernelRecord> kernels;  ///< In the order of their launches.
  std::string without_counters;       ///< Why the counters were not read, or empty.
};

/// Resources of a multiprocessor that limit how many blocks it holds.
struct MultiprocessorLimits {
  int64_t threads = 0, blocks = 0, registers = 0, shared_bytes = 0;
  int64_t reserved_bytes = 0;  ///< Of shared memory, that each block takes beside its own.
  int64_t count = 0;           ///< Multiprocessors of the GPU.
};

/// Sets `occupancy` and `waves`; neither where the limits are not known.
void set_occupancy(KernelRecord& record, const MultiprocessorLimits& limits);

}  // namespace tenon
