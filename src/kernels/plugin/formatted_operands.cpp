#include "kernels/plugin/formatted_operands.h"

#include <algorithm>

namespace tenon {

Result<FormattedOperands> FormattedOperands::make(const Problem& problem,
                                                  const plugin::Combination& combination,
                                                  size_t inputs) {
  FormattedOperands result;
  for (size_t i = 0; i < combination.size(); ++i) {
    if (combination[i].is_linear() || combination[i].kept) continue;
    const bool is_input = i < inputs;
    const size_t index = is_input ? i : i - inputs;
    TENON_ASSIGN(
        FormatMove move,
        FormatMove::make(
            problem, is_input ? problem.inputs[index] : problem.outputs[index],
            combination[i].format,
            is_input ? FormatMove::Direction::kToBuffer : FormatMove::Direction::kFromBuffer));
    result.scratch_ = std::max(result.scratch_, move.workspace_bytes());
    const size_t place = result.buffers_;
    result.buffers_ += move.buffer_bytes();
    (is_input ? result.inputs_ : result.outputs_).push_back({index, std::move(move), place});
  }
  return result;
}

Status FormattedOperands::enter(std::span<const void*> inputs, std::span<void*> outputs,
                                std::byte* memory, Queue queue) const {
  for (const Moved& moved : inputs_) {
    void* const buffer = memory + moved.place;
    TENON_TRY(moved.move.run(inputs[moved.index], buffer, memory + buffers_, queue));
    inputs[moved.index] = buffer;
  }
  for (const Moved& moved : outputs_) outputs[moved.index] = memory + moved.place;
  return {};
}

Status FormattedOperands::leave(std::span<void* const> outputs, std::byte* memory,
                                Queue queue) const {
  for (const Moved& moved : outputs_)
    TENON_TRY(moved.move.run(memory + moved.place, outputs[moved.index], memory + buffers_, queue));
  return {};
}

}  // namespace tenon
