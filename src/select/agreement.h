#pragma once

#include <vector>

#include "device/device.h"
#include "kernels/tactic.h"

namespace tenon {

/// Elements from the first to the last that the operand touches.
int64_t extent_in_memory(const Operand& operand);

/// Numbers from all over the real outputs of a kernel; NaN where it wrote nothing.
using Sample = std::vector<float>;

/// Pieces of a problem's real outputs, evenly spread. Filled with NaN before a launch, what they
/// hold afterwards is what the kernel wrote. `outputs` are addresses on the device.
class Sampler {
 public:
  Sampler(Device& device, Queue queue, const Problem& problem, const void* const* outputs);
  Status poison() const;
  Result<Sample> read() const;

 private:
  struct Piece {
    char* address;
    DataType type;
    int64_t count;
  };
  Device& device_;
  Queue queue_;
  std::vector<Piece> pieces_;
};

/// Norm of the difference over the norm of `expected`, where both wrote; 1 where only one did.
double sample_distance(const Sample& actual, const Sample& expected);

/// The largest distance between two right results of something computed in that type: Winograd
/// convolutions and tf32 come near half of it.
double distance_limit(DataType computed);
/// The same where matrix units multiply: with tf32, f32 has the 10 bits of mantissa of f16.
double distance_limit(DataType computed, bool in_tf32);
/// Whether the device has matrix units that take f32 for tf32, and may use them.
bool multiplies_in_tf32(const Device* device, bool allowed);
/// The same for a problem, by the coarsest type of its operands.
double distance_limit(const Problem& problem);

}  // namespace tenon
