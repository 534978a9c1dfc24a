#pragma once

#include "kernels/jit/plan.h"

namespace tenon {

/// How rows are spread over threads in rows/group.cuh.
struct RowGroups {
  int64_t rows = 1, length = 1;
  int vector = 1, group = 32, block = 128;
  int64_t blocks() const { return blocks_for(rows, block / group); }
};

/// Threads for each of `rows` rows: enough rows fill the device, long rows stay in registers.
RowGroups choose_groups(const Problem& problem, int64_t rows, int64_t length, int vector);

void add_groups(KernelCode& code, const RowGroups& groups);

/// load_input() of rows/normalize.cu and the macros INPUT_PARAMETERS and INPUT_ARGUMENTS: the sum
/// of the given problem inputs, broadcast over the loop, one parameter each; then, unless
/// `sum_output` is -1, that problem output, which receives the sum. `Real` and kVector must be
/// defined already.
void add_row_input(KernelCode& code, const Problem& problem, const IndexLoop& loop,
                   const std::vector<int>& inputs, int sum_output);

/// A tensor in memory order as [outer, reduced, inner]: inner are the kept axes that lie behind all
/// reduced ones. Without axes of extent 1.
struct ColumnLoop {
  IndexLoop outer, reduced, inner;
  IndexLoop kept() const { return joined(outer, inner); }
  IndexLoop all() const { return joined(joined(outer, reduced), inner); }
};
ColumnLoop column_loop(const Operand& tensor, const std::vector<bool>& reduced);

/// The kept axes of a tensor in memory order, and the reduced ones.
struct SplitLoop {
  IndexLoop kept, reduced;
};
SplitLoop split_loop(const Operand& tensor, const std::vector<bool>& reduced);

}  // namespace tenon
