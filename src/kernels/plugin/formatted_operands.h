#pragma once

#include <span>
#include <vector>

#include "kernels/plugin/format_move.h"
#include "plugin/combination.h"

namespace tenon {

/// The operands of a plugin that it takes in other formats than linear, with the movements of data
/// that this asks for and their buffers in the kernel's workspace.
class FormattedOperands {
 public:
  /// `combination`: of the first `inputs` inputs of the problem, then of its outputs.
  static Result<FormattedOperands> make(const Problem& problem,
                                        const plugin::Combination& combination, size_t inputs);

  bool empty() const { return inputs_.empty() && outputs_.empty(); }
  /// The buffers, then room for one movement at a time.
  size_t bytes() const { return buffers_ + scratch_; }
  /// Puts the buffers in the places of the operands, and fills those of inputs.
  Status enter(std::span<const void*> inputs, std::span<void*> outputs, std::byte* memory,
               Queue queue) const;
  /// Moves the outputs' buffers to `outputs`.
  Status leave(std::span<void* const> outputs, std::byte* memory, Queue queue) const;

 private:
  struct Moved {
    size_t index;  ///< Of the input or output.
    FormatMove move;
    size_t place;  ///< Of its buffer.
  };

  std::vector<Moved> inputs_, outputs_;
  size_t buffers_ = 0, scratch_ = 0;
};

}  // namespace tenon
