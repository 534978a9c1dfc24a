#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "kernels/tactic.h"
#include "network/io_formats.h"

namespace tenon {

/// Moves a linear tensor into a buffer of another format, or back, by the kernels that the nodes of
/// network/io_formats.h have on the device. As thread-safe as a Kernel.
class FormatMove {
 public:
  enum class Direction : uint8_t { kToBuffer, kFromBuffer };
  /// `around`: the problem that the tensor is an operand of.
  static Result<FormatMove> make(const Problem& around, const Operand& tensor,
                                 nvinfer1::TensorFormat format, Direction direction);

  /// Of the buffer; these are multiples of 256.
  size_t buffer_bytes() const { return buffer_bytes_; }
  size_t workspace_bytes() const { return workspace_bytes_; }
  Status run(const void* from, void* to, void* workspace, Queue queue) const;

 private:
  /// Of a slice: the tensor, its starts, ends, axes and steps.
  static constexpr size_t kMostInputs = 5;
  /// Where a value lies; constants that kernels know have no place on a GPU.
  struct Place {
    enum class Base : uint8_t { kFrom, kTo, kWorkspace, kFixed } base = Base::kFixed;
    size_t bytes = 0;
    const void* fixed = nullptr;
  };
  struct Step {
    std::unique_ptr<Kernel> kernel;
    std::vector<Place> inputs;
    Place output;
  };

  Status plan(const Problem& around);
  Status add_step(const Problem& around, const Node& node, std::span<const Place> places);
  Place take(size_t bytes);

  std::shared_ptr<Graph> graph_;
  std::vector<Step> steps_;
  size_t buffer_bytes_ = 0, workspace_bytes_ = 0, kernel_bytes_ = 0;
};

}  // namespace tenon
