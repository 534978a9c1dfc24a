#include "kernels/rows/group_cuda.h"

#include <fmt/format.h>

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
  code.open("kRows", groups.rows);
  code.constants("kLength kVector kGroup", groups.length, groups.vector, groups.group);
  code.constant("kBlock", groups.block);
}

void add_row_input(KernelCode& code, const Problem& problem, const IndexLoop& loop,
                   const std::vector<int>& inputs, int sum_output) {
  std::string parameters, arguments, body;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Operand& operand = problem.input(inputs[i]);
    // Callers have made sure that it broadcasts.
    code.located(fmt::format("Input{}At", i), loop, operand,
                 broadcast_strides(operand, problem.output().extents).value());
    parameters += fmt::format(", const {}* __restrict__ x{}", device_type(operand.type), i);
    arguments += fmt::format(", x{}", i);
    if (i == 0) {
      body += "  load_located<Input0At, kVector>(x0, at, v);\n";
      continue;
    }
    body += fmt::format(
        "  {{\n    Real more[kVector];\n    load_located<Input{0}At, kVector>(x{0}, at, more);\n"
        "#pragma unroll\n    for (int i = 0; i < kVector; ++i) v[i] += more[i];\n  }}\n",
        i);
  }
  if (sum_output >= 0) {
    const Operand& sum = problem.output(sum_output);
    code.located("SumAt", loop, sum);
    parameters += fmt::format(", {}* __restrict__ sum_result", device_type(sum.type));
    arguments += ", sum_result";
    body += "  if (store) store_located<SumAt, kVector>(sum_result, at, v);\n";
  }
  code.text(fmt::format(
      "#define INPUT_PARAMETERS {}\n#define INPUT_ARGUMENTS {}\n"
      "__device__ inline void load_input(Index at, Real (&v)[kVector], [[maybe_unused]] bool store "
      "INPUT_PARAMETERS) {{\n{}}}\n",
      parameters, arguments, body));
}

ColumnLoop column_loop(const Operand& tensor, const std::vector<bool>& reduced) {
  ColumnLoop loop;
  for (const LoopAxis& axis : memory_loop(tensor)) {
    if (axis.extent == 1) continue;
    if (!reduced[static_cast<size_t>(axis.axis)]) {
      loop.inner.push_back(axis);
      continue;
    }
    loop.reduced.push_back(axis);
    loop.outer.insert(loop.outer.end(), loop.inner.begin(), loop.inner.end());
    loop.inner.clear();
  }
  return loop;
}

SplitLoop split_loop(const Operand& tensor, const std::vector<bool>& reduced) {
  SplitLoop split;
  for (const LoopAxis& axis : memory_loop(tensor))
    (reduced[static_cast<size_t>(axis.axis)] ? split.reduced : split.kept).push_back(axis);
  return split;
}

}  // namespace tenon
