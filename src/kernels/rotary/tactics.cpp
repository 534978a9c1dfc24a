#include <algorithm>

#include "device/cpu/thread_pool.h"
#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/rotary/rotary.h"
#include "kernels/strides.h"
#include "ops/nn.h"

namespace tenon::tactics::rotary_rows {
namespace {

enum Input { kX, kCos, kSin, kPositions };

/// Steps from one batch, position and head to the next.
struct Steps {
  int64_t batch, position, head;
};

struct Description {
  cpu::ElementType type = cpu::ElementType::f32;
  int64_t batch = 1, positions = 1, heads = 1, size = 1, rotated = 1, cached = 0;
  Steps x{}, y{};
  bool interleaved = false, wide_positions = true, has_positions = false;
};

Steps steps_of(const Operand& operand, int64_t size) {
  const std::vector<int64_t> s = strides_of(operand);
  return operand.rank() == 3 ? Steps{s[0], s[1], size} : Steps{s[0], s[2], s[1]};
}

Result<Description> describe(const Problem& problem) {
  const auto* op = problem.operation.as<RotaryEmbedding>();
  if (op == nullptr) return unsupported("not a rotary embedding");
  const Operand &x = problem.input(kX), &y = problem.output(), &cos = problem.input(kCos),
                &sin = problem.input(kSin);
  const auto type = cpu::element_type(x.type);
  if (!type || cos.type != x.type || sin.type != x.type)
    return unsupported("the types are neither f32 nor bf16");
  if (x.count() == 0) return unsupported("an empty tensor");
  if (strides_of(x).back() != 1 || strides_of(y).back() != 1)
    return unsupported("elements of a head lie apart");
  Description d;
  d.type = *type;
  const bool flat = x.rank() == 3;
  d.batch = x.extents[0], d.positions = x.extents[flat ? 1 : 2];
  d.heads = flat ? op->heads : x.extents[1];
  d.size = flat ? x.extents[2] / op->heads : x.extents[3];
  d.rotated = op->rotary_dim == 0 ? d.size : op->rotary_dim;
  if (d.rotated > d.size || d.rotated % 2 != 0 || d.rotated == 0)
    return unsupported("{} elements of {} rotate", d.rotated, d.size);
  if (!is_plain(cos) || !is_plain(sin) || cos.extents != sin.extents ||
      cos.extents.back() != d.rotated / 2)
    return unsupported("the caches are not dense, or do not match");
  d.cached = cos.count() / (d.rotated / 2);
  d.has_positions = problem.has_input(kPositions);
  const int64_t places = d.batch * d.positions;
  if (d.has_positions) {
    const Operand& ids = problem.input(kPositions);
    if (ids.type != DataType::kInt64 && ids.type != DataType::kInt32)
      return unsupported("positions that are neither i64 nor i32");
    if (!is_plain(ids) || ids.count() != places) return unsupported("positions that are not dense");
    d.wide_positions = ids.type == DataType::kInt64;
  } else if (d.cached < places && d.cached != d.positions) {
    return unsupported("caches shorter than the positions");
  }
  d.x = steps_of(x, d.size), d.y = steps_of(y, d.size);
  d.interleaved = op->interleaved;
  return d;
}

class RotaryKernel final : public Kernel {
 public:
  RotaryKernel(const Problem& problem, const Description& description)
      : d_(description),
        function_(cpu::rotary_function(cpu::isa_up_to(problem.isa_limit))),
        name_(problem.layer) {}

  Status run(const LaunchArguments& arguments) const override {
    for (int64_t i = 0; i < d_.batch * d_.positions; ++i)
      if (const int64_t row = cache_row(arguments, i); row < 0 || row >= d_.cached)
        return user_error("'{}': position {} is outside a cache of {}", name_, row, d_.cached);
    const int64_t rows = d_.batch * d_.positions * d_.heads;
    arguments.queue.pool->for_each(rows, std::max<int64_t>(1, 16384 / d_.size),
                                   [&](int64_t i) { one(i, arguments); });
    return {};
  }

 private:
  int64_t cache_row(const LaunchArguments& arguments, int64_t place) const {
    // Caches of one sequence serve all of the batch.
    if (!d_.has_positions) return d_.cached == d_.positions ? place % d_.cached : place;
    const void* ids = arguments.inputs[kPositions];
    const int64_t row = d_.wide_positions ? static_cast<const int64_t*>(ids)[place]
                                          : static_cast<const int32_t*>(ids)[place];
    return row < 0 ? row + d_.cached : row;
  }

  void one(int64_t index, const LaunchArguments& arguments) const {
    const int64_t head = index % d_.heads, place = index / d_.heads,
                  position = place % d_.positions, batch = place / d_.positions;
    const auto at = [&](const void* base, int64_t element) {
      return static_cast<const char*>(base) + element * cpu::element_size(d_.type);
    };
    const auto offset = [&](const Steps& steps) {
      return batch * steps.batch + position * steps.position + head * steps.head;
    };
    const int64_t cached = cache_row(arguments, place) * (d_.rotated / 2);
    function_({d_.type, at(arguments.inputs[kX], offset(d_.x)), at(arguments.inputs[kCos], cached),
               at(arguments.inputs[kSin], cached),
               const_cast<char*>(at(arguments.outputs[0], offset(d_.y))), d_.size, d_.rotated,
               d_.interleaved});
  }

  Description d_;
  cpu::RotaryFunction function_;
  std::string name_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<RotaryKernel>)

}  // namespace tenon::tactics::rotary_rows
