// Softmax over one axis of tensors of any strides: whole rows where that axis is contiguous, else
// many neighbours at once along an axis that is.
#include <algorithm>

#include "base/arithmetic.h"
#include "device/cpu/thread_pool.h"
#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/rows/describe.h"
#include "kernels/strides.h"
#include "ops/nn.h"

namespace tenon::tactics::softmax_strided {
namespace {

struct Axis {
  int64_t extent = 1, x = 0, y = 0;  ///< Strides in elements.
};

struct Description {
  Axis along;               ///< Of the softmax.
  Axis side;                ///< Contiguous, unless `along` is; cut into pieces of kColumns.
  std::vector<Axis> outer;  ///< All others.
};

Result<Description> describe(const Problem& problem) {
  const auto* op = problem.operation.as<Softmax>();
  if (op == nullptr) return unsupported("not a softmax");
  const Operand &x = problem.input(0), &y = problem.output();
  if (!cpu::is_vector_type(x.type) || x.type != y.type)
    return unsupported("{} to {}; takes f32, bf16", name_of(x.type), name_of(y.type));
  if (x.count() == 0) return unsupported("an empty tensor");
  if (op->axes.size() != 1) return unsupported("several axes");
  const int64_t axis = op->axes[0] < 0 ? op->axes[0] + x.rank() : op->axes[0];
  const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
  Description d;
  bool has_side = x.extents[axis] == 1 || (from[axis] == 1 && to[axis] == 1);
  for (int64_t i = 0; i < x.rank(); ++i) {
    const Axis one{x.extents[i], from[i], to[i]};
    if (i == axis) {
      d.along = one;
    } else if (!has_side && one.x == 1 && one.y == 1 && one.extent > 1) {
      d.side = one;
      has_side = true;
    } else {
      d.outer.push_back(one);
    }
  }
  if (!has_side) return unsupported("no axis is contiguous in both");
  return d;
}

class StridedSoftmax final : public Kernel {
 public:
  StridedSoftmax(const Problem& problem, Description description)
      : d_(std::move(description)),
        type_(*cpu::element_type(problem.input(0).type)),
        log_(problem.operation.as<Softmax>()->log),
        functions_(cpu::row_functions(cpu::isa_up_to(problem.isa_limit))) {}

  Status run(const LaunchArguments& arguments) const override {
    const int64_t pieces = ceil_div(d_.side.extent, kColumns);
    int64_t count = pieces;
    for (const Axis& axis : d_.outer) count *= axis.extent;
    const int64_t each = d_.along.extent * std::min(kColumns, d_.side.extent);
    arguments.queue.pool->for_each(count, std::max<int64_t>(1, 4096 / each), [&](int64_t task) {
      one(task / pieces, task % pieces * kColumns, arguments.inputs[0], arguments.outputs[0]);
    });
    return {};
  }

 private:
  static constexpr int64_t kColumns = 64;

  void one(int64_t place, int64_t column, const void* x, void* y) const {
    int64_t from = column, to = column;
    for (size_t i = d_.outer.size(); i-- > 0;) {
      const Axis& axis = d_.outer[i];
      from += place % axis.extent * axis.x;
      to += place % axis.extent * axis.y;
      place /= axis.extent;
    }
    const void* source = cpu::advance(x, from, type_);
    void* result = cpu::advance(y, to, type_);
    if (d_.along.extent == 1 || (d_.along.x == 1 && d_.along.y == 1))
      return functions_.softmax(type_, source, result, d_.along.extent, log_);
    functions_.softmax_columns(type_, source, result, d_.along.extent, d_.along.x, d_.along.y,
                               std::min(kColumns, d_.side.extent - column), log_);
  }

  Description d_;
  cpu::ElementType type_;
  bool log_;
  const cpu::RowFunctions& functions_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<StridedSoftmax>)

}  // namespace tenon::tactics::softmax_strided
