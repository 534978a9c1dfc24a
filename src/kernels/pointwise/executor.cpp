#include "kernels/pointwise/executor.h"

#include <algorithm>

#include "base/arithmetic.h"

namespace tenon::cpu {
namespace {

size_t register_count(const PointwisePlan& plan) {
  return static_cast<size_t>(plan.program.inputs) + plan.program.instructions.size();
}

size_t register_bytes(const PointwisePlan& plan) {
  return register_count(plan) * kBlockElements * sizeof(float);
}

/// One thread's walk over its blocks: each is several whole rows, or a piece of one long row
/// (executor.h).
class Walk {
 public:
  /// `scratch` has scratch_bytes(1) of the plan: registers, then their addresses.
  Walk(const PointwisePlan& plan, const void* const* inputs, void* const* outputs,
       std::byte* scratch)
      : plan_(plan),
        functions_(block_functions(plan.isa)),
        inputs_(inputs),
        outputs_(outputs),
        registers_(reinterpret_cast<float*>(scratch)),
        sources_(reinterpret_cast<const float**>(scratch + register_bytes(plan))) {
    for (const int input : plan.numbers) {
      const auto operand = static_cast<size_t>(input);
      functions_.load(plan.types[operand], inputs[input], 0, 0, slot(operand), kBlockElements);
      sources_[operand] = slot(operand);
    }
  }

  void block(int64_t index) {
    const int64_t piece = index % plan_.pieces_a_row();
    first_row_ = index / plan_.pieces_a_row() * plan_.rows_a_block();
    rows_ = std::min(plan_.rows_a_block(), plan_.rows() - first_row_);
    column_ = piece * kBlockElements;
    columns_ = std::min(kBlockElements, plan_.row() - column_);
    for (const int input : plan_.loads) load(input);
    for (size_t i = 0; i < plan_.program.instructions.size(); ++i) apply(i);
    for (size_t i = 0; i < plan_.program.outputs.size(); ++i) store(i);
  }

 private:
  float* slot(size_t reg) { return registers_ + reg * kBlockElements; }

  /// Element offset of a row's first element of the block, for one operand.
  int64_t row_offset(size_t operand, int64_t row) const {
    const auto& extents = plan_.loops.extents;
    const auto& strides = plan_.loops.strides[operand];
    int64_t at = column_ * strides.back();
    for (int axis = static_cast<int>(extents.size()) - 2; axis >= 0; --axis) {
      at += row % extents[axis] * strides[axis];
      row /= extents[axis];
    }
    return at;
  }

  void load(int input) {
    const auto operand = static_cast<size_t>(input);
    const PointwiseType type = plan_.types[operand];
    const int64_t stride = plan_.loops.strides[operand].back();
    if (rows_ == 1 && stride == 1 &&
        type == PointwiseType::f32) {  // Already the type of a register.
      sources_[operand] =
          static_cast<const float*>(inputs_[input]) + row_offset(operand, first_row_);
      return;
    }
    for_runs(operand, [&](int64_t first, int64_t rows, int64_t at, int64_t step) {
      float* to = slot(operand) + first * columns_;
      const bool joined = step == columns_ * stride, repeated = step == 0;
      if (joined || repeated) {
        const int64_t loaded = joined ? rows * columns_ : columns_;
        functions_.load(type, inputs_[input], at, stride, to, loaded);
        return repeat(to, loaded, rows * columns_);
      }
      for (int64_t r = 0; r < rows; ++r)
        functions_.load(type, inputs_[input], at + r * step, stride, to + r * columns_, columns_);
    });
    sources_[operand] = slot(operand);
  }

  /// The block's rows as runs along the last axis but one: f(first, how many, offset of the first,
  /// from one to the next).
  template <class F> void for_runs(size_t operand, F f) const {
    const size_t axes = plan_.loops.extents.size();
    if (axes == 1) return f(0, rows_, row_offset(operand, first_row_), 0);
    const int64_t extent = plan_.loops.extents[axes - 2];
    const int64_t step = plan_.loops.strides[operand][axes - 2];
    for (int64_t r = 0; r < rows_;) {
      const int64_t row = first_row_ + r, count = std::min(extent - row % extent, rows_ - r);
      f(r, count, row_offset(operand, row), step);
      r += count;
    }
  }

  /// The first `filled` numbers again and again, up to `count`.
  static void repeat(float* numbers, int64_t filled, int64_t count) {
    while (filled < count) {
      const int64_t more = std::min(filled, count - filled);
      std::copy_n(numbers, more, numbers + filled);
      filled += more;
    }
  }

  void apply(size_t index) {
    const auto& instruction = plan_.program.instructions[index];
    const float* operands[3] = {nullptr, nullptr, nullptr};
    for (int i = 0; i < 3 && instruction.sources[i] >= 0; ++i)
      operands[i] = sources_[instruction.sources[i]];
    const size_t reg = static_cast<size_t>(plan_.program.inputs) + index;
    functions_.apply(instruction, operands[0], operands[1], operands[2], slot(reg),
                     rows_ * columns_);
    sources_[reg] = slot(reg);
  }

  void store(size_t output) {
    const size_t operand = static_cast<size_t>(plan_.program.inputs) + output;
    const float* from = sources_[plan_.program.outputs[output]];
    const int64_t stride = plan_.loops.strides[operand].back();
    for_runs(operand, [&](int64_t first, int64_t rows, int64_t at, int64_t step) {
      const bool joined = step == columns_ * stride;
      const int64_t stores = joined ? 1 : rows, count = joined ? rows * columns_ : columns_;
      for (int64_t r = 0; r < stores; ++r)
        functions_.store(plan_.types[operand], from + (first + r) * columns_, outputs_[output],
                         at + r * step, stride, count);
    });
  }

  const PointwisePlan& plan_;
  const BlockFunctions& functions_;
  const void* const* inputs_;
  void* const* outputs_;
  float* registers_;
  const float** sources_;
  int64_t first_row_ = 0, rows_ = 0, column_ = 0, columns_ = 0;
};

}  // namespace

void PointwisePlan::sort_inputs() {
  for (int i = 0; i < program.inputs; ++i) {
    if (!program.reads(i)) continue;
    const auto& strides = loops.strides[static_cast<size_t>(i)];
    const bool moves =
        std::any_of(strides.begin(), strides.end(), [](int64_t s) { return s != 0; });
    (moves ? loads : numbers).push_back(i);
  }
}

int64_t PointwisePlan::rows() const {
  int64_t count = 1;
  for (size_t i = 0; i + 1 < loops.extents.size(); ++i) count *= loops.extents[i];
  return count;
}

size_t PointwisePlan::scratch_bytes(int threads) const {
  constexpr int64_t kLine = 64;  // Workers write to lines of their own.
  const auto addresses = static_cast<int64_t>(register_count(*this) * sizeof(const float*));
  return static_cast<size_t>(threads) *
         (register_bytes(*this) + static_cast<size_t>(round_up(addresses, kLine)));
}

void run_pointwise(const PointwisePlan& plan, const void* const* inputs, void* const* outputs,
                   ThreadPool& pool, void* scratch) {
  const int64_t blocks =
      (plan.rows() + plan.rows_a_block() - 1) / plan.rows_a_block() * plan.pieces_a_row();
  const int64_t grain = 8;  // Smaller tasks cost more to hand out than to do.
  pool.parallel_for(blocks, grain, [&](int64_t begin, int64_t end, int worker) {
    std::byte* const own =
        static_cast<std::byte*>(scratch) + static_cast<size_t>(worker) * plan.scratch_bytes(1);
    Walk walk(plan, inputs, outputs, own);
    for (int64_t block = begin; block < end; ++block) walk.block(block);
  });
}

}  // namespace tenon::cpu
