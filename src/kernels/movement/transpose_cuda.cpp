// Views made real, concatenations and layout changes on NVIDIA GPUs: straight copies where both
// sides have the same fastest axis, else transposes through shared memory.
#include <algorithm>
#include <numeric>

#include "kernels/jit/tactic.h"
#include "kernels/movement/copy_parts.h"

namespace tenon::tactics {
namespace cuda_transpose {
namespace {

constexpr int kBlock = 256;

/// One copy from an input to an output; axes as few as possible, slowest first in the output.
struct Part {
  int input = 0, output = 0;
  int64_t from_offset = 0, to_offset = 0;  ///< In elements.
  Extents extents;
  std::vector<int64_t> from, to;
  int64_t count() const { return element_count(extents); }
};

void set_axes(Part& part, const Extents& extents, const std::vector<int64_t>& from,
              const std::vector<int64_t>& to) {
  std::vector<size_t> axes(extents.size());
  std::iota(axes.begin(), axes.end(), 0);
  std::stable_sort(axes.begin(), axes.end(), [&](size_t a, size_t b) { return to[a] > to[b]; });
  for (const size_t axis : axes) {
    const int64_t extent = extents[axis];
    if (extent == 1) continue;
    if (!part.extents.empty() && part.from.back() == from[axis] * extent &&
        part.to.back() == to[axis] * extent) {
      part.extents.back() *= extent;
      part.from.back() = from[axis];
      part.to.back() = to[axis];
    } else {
      part.extents.push_back(extent);
      part.from.push_back(from[axis]);
      part.to.push_back(to[axis]);
    }
  }
  if (!part.extents.empty()) return;
  part.extents = {1};
  part.from = part.to = {1};
}

/// Elements that one side's address in a part is a multiple of.
int64_t side_alignment(const Operand& operand, int64_t offset) {
  const int64_t elements = alignment_in_elements(operand);
  return offset == 0 ? elements : std::gcd(elements, offset);
}

Operand side(const Operand& operand, int64_t offset) {
  Operand result = operand;
  result.alignment = side_alignment(operand, offset) * byte_size(operand.type);
  return result;
}

IndexLoop all_axes(const Part& part) {
  IndexLoop loop;
  for (size_t i = 0; i < part.extents.size(); ++i)
    loop.push_back({static_cast<int>(i), part.extents[i]});
  return loop;
}

KernelCode begin_copy(const Problem& problem, const Part& part, int bytes) {
  KernelCode code = begin_code(problem);
  code.alias("Word", word_type(bytes));
  code.constants("kBlock kFromOffset kToOffset", kBlock, part.from_offset, part.to_offset);
  return code;
}

Result<JitLaunch> straight(const Problem& problem, const Part& part) {
  const Operand from = side(problem.input(part.input), part.from_offset),
                to = side(problem.output(part.output), part.to_offset);
  const IndexLoop loop = all_axes(part);
  const int vector = std::min(pack_width(loop, from, part.from), pack_width(loop, to, part.to));
  const int64_t packs = part.count() / vector;
  const int64_t unroll = packs > int64_t{2048} * multiprocessors(problem) ? 4 : 1;
  KernelCode code = begin_copy(problem, part, byte_size(from.type));
  code.constants("kVector kUnroll", vector, unroll);
  code.open("kCount", part.count());
  code.located("FromAt", loop, from, part.from);
  code.located("ToAt", loop, to, part.to);
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"movement/copy.cu"}));
  launch.grid[0] = blocks_for(packs, kBlock * unroll);
  return launch;
}

/// The axis that the source is contiguous along, when it is another one than the destination's.
std::optional<size_t> crossing_axis(const Part& part) {
  const size_t last = part.extents.size() - 1;
  if (part.to[last] != 1 || part.from[last] == 1 || part.from[last] == 0) return std::nullopt;
  for (size_t axis = 0; axis < last; ++axis)
    if (part.from[axis] == 1 && part.extents[axis] >= 4 && part.extents[last] >= 4) return axis;
  return std::nullopt;
}

/// The widest pack along an axis of stride 1, all other strides and the address being multiples.
int side_vector(const Part& part, const std::vector<int64_t>& strides, size_t axis,
                const Operand& operand) {
  const int64_t alignment = alignment_in_elements(operand);
  int vector = 16 / byte_size(operand.type);
  const auto fits = [&](int width) {
    if (part.extents[axis] % width != 0 || alignment % width != 0) return false;
    for (size_t i = 0; i < strides.size(); ++i)
      if (i != axis && strides[i] % width != 0) return false;
    return true;
  };
  while (vector > 1 && !fits(vector)) vector /= 2;
  return vector;
}

Result<JitLaunch> crossing(const Problem& problem, const Part& part, size_t axis) {
  const Operand from = side(problem.input(part.input), part.from_offset),
                to = side(problem.output(part.output), part.to_offset);
  const size_t last = part.extents.size() - 1;
  const int bytes = byte_size(from.type);
  const int64_t tile = bytes <= 2 ? 64 : 32;
  KernelCode code = begin_copy(problem, part, bytes);
  code.constants("kTile kFromExtent kToExtent", tile, part.extents[axis], part.extents[last]);
  code.constants("kFromStride kToStride", part.from[last], part.to[axis]);
  code.constant("kFromVector", side_vector(part, part.from, axis, from));
  code.constant("kToVector", side_vector(part, part.to, last, to));
  IndexLoop rest = all_axes(part);
  rest.pop_back();
  rest.erase(rest.begin() + static_cast<int64_t>(axis));
  code.located("FromRestAt", rest, from, part.from);
  code.located("ToRestAt", rest, to, part.to);
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"movement/transpose.cu"}));
  launch.grid[0] = blocks_for(part.extents[axis], tile) * blocks_for(part.extents[last], tile) *
                   loop_count(rest);
  return launch;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const std::vector<CopyPart> copies, copy_parts(problem));
  std::vector<Part> parts;
  for (const CopyPart& copy : copies) {
    Part part{copy.input, copy.output, copy.from_offset, copy.to_offset, {}, {}, {}};
    set_axes(part, copy.extents, copy.from_strides, copy.to_strides);
    parts.push_back(std::move(part));
  }
  const auto crosses = [](const Part& part) { return crossing_axis(part).has_value(); };
  if (std::none_of(parts.begin(), parts.end(), crosses))
    return unsupported("both sides have the same fastest axis");
  JitPlan plan;
  for (const Part& part : parts) {
    const auto axis = crossing_axis(part);
    TENON_ASSIGN(JitLaunch launch, axis ? crossing(problem, part, *axis) : straight(problem, part));
    launch.block[0] = kBlock;
    launch.add({JitArgument::input(part.input), JitArgument::output(part.output)});
    plan.launches.push_back(std::move(launch));
  }
  return plan;
}

}  // namespace
}  // namespace cuda_transpose

TENON_JIT_TACTIC(cuda_transpose, single_config)

}  // namespace tenon::tactics
