// Borders, repetitions, and blocks of pixels to channels and back.
#include <algorithm>
#include <numeric>

#include "kernels/cpu_tactic.h"
#include "kernels/movement/mapped_copy.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/strides.h"
#include "ops/movement.h"
#include "ops/pad_places.h"

namespace tenon::tactics {
namespace copy_mapped {
namespace {

using Places = std::vector<std::vector<int64_t>>;

Result<std::vector<int64_t>> integers(const Problem& problem, int input) {
  const Tensor* tensor = problem.input(input).constant;
  if (tensor == nullptr) return unsupported("operand {} is computed at run time", input);
  return tensor->to_int64s();
}

Result<Places> pad_places_of(const Problem& problem, const Pad& op) {
  TENON_ASSIGN(const std::vector<int64_t> pads, integers(problem, 1));
  std::vector<int64_t> axes;
  if (problem.has_input(3)) {
    TENON_ASSIGN(axes, integers(problem, 3));
  } else {
    axes.resize(problem.input(0).extents.size());
    std::iota(axes.begin(), axes.end(), 0);
  }
  if (problem.has_input(2) && (problem.input(2).type != problem.input(0).type ||
                               problem.input(2).count() != 1 || !problem.input(2).dense()))
    return unsupported("a value of another type than x");
  return pad_places(problem.operation, problem.input(0).extents, pads, axes, op.fill);
}

/// Each axis over and over.
Places repeated(const Problem& problem) {
  Places places;
  for (size_t i = 0; i < problem.output().extents.size(); ++i)
    for (int64_t j = (places.emplace_back(), 0); j < problem.output().extents[i]; ++j)
      places.back().push_back(j % problem.input(0).extents[i]);
  return places;
}

Result<cpu::MappedCopy> describe(const Problem& problem) {
  const auto* pad = problem.operation.as<Pad>();
  if (pad == nullptr && !problem.operation.is<Tile>())
    return unsupported("no borders or repetitions");
  const Operand &x = problem.input(0), &y = problem.output();
  if (x.count() == 0 || y.count() == 0) return unsupported("an empty tensor");
  Places places;
  if (pad != nullptr) {
    TENON_ASSIGN(places, pad_places_of(problem, *pad));
  } else {
    places = repeated(problem);
  }
  const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
  std::vector<cpu::MappedAxis> axes;
  for (size_t i = 0; i < places.size(); ++i) {
    cpu::MappedAxis axis{to[i], {}};
    for (const int64_t place : places[i])
      axis.from.push_back(place < 0 ? cpu::MappedAxis::kFill : place * from[i]);
    axes.push_back(std::move(axis));
  }
  return cpu::MappedCopy(std::move(axes), byte_size(x.type));
}

class MappedKernel final : public Kernel {
 public:
  MappedKernel(const Problem& problem, cpu::MappedCopy copy)
      : copy_(std::move(copy)), has_fill_(problem.operation.is<Pad>() && problem.has_input(2)) {}
  Status run(const LaunchArguments& arguments) const override {
    copy_.run(arguments.inputs[0], has_fill_ ? arguments.inputs[2] : nullptr, arguments.outputs[0],
              *arguments.queue.pool);
    return {};
  }
  bool uses_input(int input) const override { return input == 0 || (input == 2 && has_fill_); }

 private:
  cpu::MappedCopy copy_;
  bool has_fill_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<MappedKernel>)

}  // namespace copy_mapped

namespace copy_blocks {
namespace {

/// The six axes that the pixels of blocks have on both sides: batch, block row, block column,
/// channel, row, column.
struct Sides {
  std::vector<int64_t> extents, deep, wide;  ///< Strides of the deep and of the wide tensor.
};

Sides sides_of(const Operand& deep, const Operand& wide, int64_t block, bool channel_first) {
  const std::vector<int64_t> d = strides_of(deep), w = strides_of(wide);
  const int64_t channels = wide.extents[1];
  const int64_t column = channel_first ? 1 : channels, channel = channel_first ? block * block : 1;
  return {{deep.extents[0], block, block, channels, deep.extents[2], deep.extents[3]},
          {d[0], block * column * d[1], column * d[1], channel * d[1], d[2], d[3]},
          {w[0], w[2], w[3], w[1], block * w[2], block * w[3]}};
}

Result<cpu::StridedCopy> describe(const Problem& problem) {
  const auto* to_space = problem.operation.as<DepthToSpace>();
  const auto* to_depth = problem.operation.as<SpaceToDepth>();
  if (to_space == nullptr && to_depth == nullptr) return unsupported("no blocks of pixels");
  const Operand &x = problem.input(0), &y = problem.output();
  if (y.count() == 0) return unsupported("an empty tensor");
  const int bytes = byte_size(x.type);
  if (to_space != nullptr) {
    const Sides sides = sides_of(x, y, to_space->block, to_space->column_row_depth);
    return cpu::StridedCopy::make(sides.extents, sides.deep, sides.wide, bytes);
  }
  const Sides sides = sides_of(y, x, to_depth->block, false);
  return cpu::StridedCopy::make(sides.extents, sides.wide, sides.deep, bytes);
}

class BlockKernel final : public Kernel {
 public:
  BlockKernel(const Problem&, cpu::StridedCopy copy) : copy_(std::move(copy)) {}
  Status run(const LaunchArguments& arguments) const override {
    copy_.run(arguments.inputs[0], arguments.outputs[0], *arguments.queue.pool);
    return {};
  }

 private:
  cpu::StridedCopy copy_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<BlockKernel>)

}  // namespace copy_blocks

}  // namespace tenon::tactics
