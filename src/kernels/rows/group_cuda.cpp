#include "kernels/rows/group_cuda.h"

#include <algorithm>

namespace tenon {

RowGroups choose_groups(const Problem& problem, int64_t rows, int64_t length, int vector) {
  RowGroups groups{.rows = rows, .length = length, .vector = vector};
  const int64_t vectors = blocks_for(length, vector);
  const bool many = rows >= int64_t{4} * multiprocessors(problem);
  const int64_t wanted = power_above(blocks_for(vectors, many ? 4 : 1));
  const int64_t warp = std::min<int64_t>(32, power_above(vectors));
  int64_t group = std::clamp<int64_t>(wanted, warp, many ? 512 : 1024);
  while (group < 1024 && blocks_for(vectors, group) * vector > 32) group *= 2;
  groups.group = static_cast<int>(group);
  // A group above a warp is a block of its own.
  const int64_t shared = many ? 128 : 32;
  groups.block = static_cast<int>(group > 32 ? group : shared);
  return groups;
}

void add_groups(KernelCode& code, const RowGroups& groups) {
  code.constant("kRows", groups.rows);
  code.constant("kLength", groups.length);
  code.constant("kVector", groups.vector);
  code.constant("kGroup", groups.group);
  code.constant("kBlock", groups.block);
}

SplitLoop split_loop(const Operand& tensor, const std::vector<bool>& reduced) {
  SplitLoop split;
  for (const LoopAxis& axis : memory_loop(tensor))
    (reduced[static_cast<size_t>(axis.axis)] ? split.reduced : split.kept).push_back(axis);
  return split;
}

}  // namespace tenon
