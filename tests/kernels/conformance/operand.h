#pragma once

#include <vector>

#include "ir/graph.h"
#include "kernels/tactic.h"

namespace tenon::conformance {

/// How operands lie in memory; sliced: in a tensor that is larger along the last two axes.
enum class Placement { kDense, kChannelsLast, kStrided, kStridedChannelsLast, kSliced };
constexpr const char* kPlacementNames[] = {"dense", "nhwc", "strided", "nhwc strided", "sliced"};

/// One operand in memory of its own. Bytes that no element covers are filled with a pattern that
/// must survive.
class Placed {
 public:
  /// Strided ones are parts of tensors with more columns, or more channels a pixel.
  Placed(DataType type, const Extents& extents, Placement placement);

  void fill(const Tensor& tensor);
  Tensor read() const;
  /// Everything between the elements is as it was.
  bool untouched() const;
  void poison();

  const Operand& operand() const { return operand_; }
  void* address() const { return bytes_.data() + kBefore; }

 private:
  static constexpr size_t kBefore = 256;
  static constexpr uint8_t kPattern = 0xff;  ///< Not a number in every real type.
  size_t offset(int64_t element) const;

  Operand operand_;
  std::vector<int64_t> strides_;
  size_t element_ = 4;
  mutable std::vector<uint8_t> bytes_;
};

}  // namespace tenon::conformance
