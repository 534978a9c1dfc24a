#pragma once

#include <vector>

#include "device/device.h"
#include "device/streams.h"
#include "kernels/backend.h"
#include "kernels/tactic.h"
#include "ops/numerics.h"

namespace tenon {

/// Numbers from all over the real outputs of a kernel; NaN where it wrote nothing.
using Sample = std::vector<float>;

/// Host memory that samples pass through, page-locked where the device has such: copies from and to
/// it do not wait for each other.
class SampleMemory {
 public:
  /// Of so many bytes at least, the same until more are asked for.
  Result<std::byte*> get(Device& device, size_t bytes);

 private:
  DeviceHandle pinned_;
  std::vector<std::byte> plain_;
  std::byte* address_ = nullptr;
  size_t bytes_ = 0;
};

/// Pieces of a problem's real outputs, evenly spread. Filled with NaN before a launch on the queue,
/// their contents afterwards were written by the kernel. `outputs` are addresses on the device.
class Sampler {
 public:
  Sampler(Device& device, Queue queue, SampleMemory& memory, const Problem& problem,
          const void* const* outputs);
  Status poison() const;
  Result<Sample> read() const;

 private:
  struct Piece {
    char* address;
    DataType type;
    int64_t count;
  };
  static size_t bytes_of(const Piece& piece);

  Device& device_;
  Queue queue_;
  SampleMemory& memory_;
  std::vector<Piece> pieces_;
};

/// How far `actual` is from `expected`, NaN included: where only one wrote, they never agree.
Deviation sample_deviation(const Sample& actual, const Sample& expected,
                           const Tolerance& tolerance);

/// Whether the device has tensor cores that take f32 for tf32, and may use them.
bool multiplies_in_tf32(const Device* device, bool allowed);
/// Two kernels of a problem may lie as far apart: by the coarsest type of its operands, f32 on
/// tensor cores counting as f16.
Tolerance agreement_tolerance(const Problem& problem);
/// A kernel's result of that type may lie as far from the reference on the same operands. `node`
/// names its tactic.
Tolerance kernel_tolerance(const Node& node, DataType result, const Backend& backend);

}  // namespace tenon
