// Reductions over any axes of tensors of any strides.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/arithmetic.h"
#include "device/cpu/thread_pool.h"
#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/rows/describe.h"
#include "kernels/strides.h"
#include "ops/math.h"

namespace tenon::tactics::reduce_strided {
namespace {

struct Axis {
  int64_t extent = 1, x = 0, y = 0;  ///< Strides in elements; y is 0 for reduced axes.
};

int64_t count_of(const std::vector<Axis>& axes) {
  int64_t count = 1;
  for (const Axis& axis : axes) count *= axis.extent;
  return count;
}

/// Offsets of the n-th place, the last axis fastest.
struct Offsets {
  int64_t x = 0, y = 0;
};
Offsets place(const std::vector<Axis>& axes, int64_t n) {
  Offsets offsets;
  for (size_t i = axes.size(); i-- > 0;) {
    offsets.x += n % axes[i].extent * axes[i].x;
    offsets.y += n % axes[i].extent * axes[i].y;
    n /= axes[i].extent;
  }
  return offsets;
}

enum class Then { kNothing, kRoot, kLogarithm };

struct Description {
  std::vector<Axis> kept, reduced;  ///< All but `inner` and `rows`.
  Axis inner;                       ///< Contiguous in x: columns, or a row that is reduced itself.
  Axis rows;                        ///< Reduced, over columns.
  bool columns = false;
  cpu::RowReduction function = cpu::RowReduction::sum;
  float factor = 1;
  Then then = Then::kNothing;
};

Status describe_function(ReduceFunction function, int64_t count, Description& d) {
  using cpu::RowReduction;
  switch (function) {
    case ReduceFunction::kMean: d.factor = 1.0f / static_cast<float>(count); return {};
    case ReduceFunction::kSum: return {};
    case ReduceFunction::kMax: d.function = RowReduction::max; return {};
    case ReduceFunction::kMin: d.function = RowReduction::min; return {};
    case ReduceFunction::kL1: d.function = RowReduction::sum_magnitudes; return {};
    case ReduceFunction::kL2: d.then = Then::kRoot; [[fallthrough]];
    case ReduceFunction::kSumSquare: d.function = RowReduction::sum_squares; return {};
    case ReduceFunction::kLogSum: d.then = Then::kLogarithm; return {};
    default: return unsupported("a product, or a logarithm of exponentials");
  }
}

/// The axes of x, reduced ones apart. y has the kept ones in order, others of extent 1 or dropped.
void describe_axes(const Reduce& op, const Operand& x, const Operand& y, Description& d) {
  std::vector<bool> reduced(x.extents.size(), op.axes.empty() && !op.empty_is_identity);
  for (const int64_t axis : op.axes) reduced[axis < 0 ? axis + x.rank() : axis] = true;
  const std::vector<int64_t> from = strides_of(x), to = strides_of(y);
  size_t at = 0;
  for (size_t i = 0; i < reduced.size(); ++i) {
    Axis axis{x.extents[i], from[i], 0};
    if (!reduced[i]) axis.y = to[at];
    if (!reduced[i] || op.keep_dims) ++at;
    if (axis.extent > 1) (reduced[i] ? d.reduced : d.kept).push_back(axis);
  }
}

/// Takes the axis that is contiguous in x out of its list.
bool take_inner(std::vector<Axis>& axes, Axis& inner) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axes[i].x == 1) {
      inner = axes[i];
      axes.erase(axes.begin() + static_cast<int64_t>(i));
      return true;
    }
  return false;
}

Result<Description> describe(const Problem& problem) {
  const auto* op = problem.operation.as<Reduce>();
  if (op == nullptr) return unsupported("not a reduction");
  const Operand &x = problem.input(0), &y = problem.output();
  if (problem.has_input(1)) return unsupported("axes from an operand");
  if (!cpu::is_vector_type(x.type) || x.type != y.type)
    return unsupported("{} to {}; takes f32, bf16", name_of(x.type), name_of(y.type));
  if (x.count() == 0) return unsupported("an empty tensor");
  Description d;
  TENON_TRY(describe_function(op->function, x.count() / std::max<int64_t>(1, y.count()), d));
  describe_axes(*op, x, y, d);
  d.columns = take_inner(d.kept, d.inner);
  if (!d.columns && !take_inner(d.reduced, d.inner) && d.kept.size() + d.reduced.size() > 0)
    return unsupported("no axis of x is contiguous");
  if (d.columns && !d.reduced.empty()) {
    d.rows = d.reduced.back();
    d.reduced.pop_back();
  }
  return d;
}

class StridedReducer final : public Kernel {
 public:
  StridedReducer(const Problem& problem, Description description)
      : d_(std::move(description)),
        type_(*cpu::element_type(problem.input(0).type)),
        functions_(cpu::row_functions(cpu::isa_up_to(problem.isa_limit))) {
    // Long pieces read memory in long runs; some are left for other threads.
    const auto pieces = [this] { return ceil_div(d_.inner.extent, columns_); };
    const int64_t kept = count_of(d_.kept);
    while (columns_ > kLeastColumns && kept * pieces() < kTasks) columns_ /= 2;
    if (d_.columns) pieces_ = pieces();
    reductions_ = count_of(d_.reduced);
  }

  Status run(const LaunchArguments& arguments) const override {
    const int64_t each = reductions_ * (d_.columns ? d_.rows.extent * columns_ : d_.inner.extent);
    arguments.queue.pool->for_each(
        count_of(d_.kept) * pieces_, std::max<int64_t>(1, 8192 / each),
        [&](int64_t task) { one(task, arguments.inputs[0], arguments.outputs[0]); });
    return {};
  }

 private:
  static constexpr int64_t kMostColumns = 1024, kLeastColumns = 64, kTasks = 16;

  float start() const {
    if (d_.function == cpu::RowReduction::max) return -std::numeric_limits<float>::infinity();
    if (d_.function == cpu::RowReduction::min) return std::numeric_limits<float>::infinity();
    return 0;
  }

  float combined(float a, float b) const {
    if (d_.function == cpu::RowReduction::max) return a > b || a != a ? a : b;
    if (d_.function == cpu::RowReduction::min) return a < b || a != a ? a : b;
    return a + b;
  }

  void one(int64_t task, const void* x, void* y) const {
    Offsets at = place(d_.kept, task / pieces_);
    const int64_t first = task % pieces_ * columns_;
    const int64_t columns = d_.columns ? std::min(columns_, d_.inner.extent - first) : 1;
    at.x += first, at.y += first * d_.inner.y;
    float sums[kMostColumns];
    std::fill_n(sums, columns, start());
    for (int64_t r = 0; r < reductions_; ++r) {
      const void* from = cpu::advance(x, at.x + place(d_.reduced, r).x, type_);
      if (d_.columns)
        functions_.reduce_columns(type_, from, d_.rows.extent, d_.rows.x, columns, d_.function,
                                  sums);
      else
        sums[0] = combined(sums[0], functions_.reduce(type_, from, d_.inner.extent, d_.function));
    }
    for (int64_t c = 0; c < columns; ++c) store(finish(sums[c]), y, at.y + c * d_.inner.y);
  }

  float finish(float value) const {
    if (d_.then == Then::kRoot) return std::sqrt(value);
    if (d_.then == Then::kLogarithm) return std::log(value);
    return value * d_.factor;
  }

  void store(float value, void* y, int64_t at) const {
    if (type_ == cpu::ElementType::f32)
      static_cast<float*>(y)[at] = value;
    else
      static_cast<uint16_t*>(y)[at] = cpu::to_bf16(value);
  }

  Description d_;
  cpu::ElementType type_;
  int64_t columns_ = kMostColumns, pieces_ = 1, reductions_ = 1;
  const cpu::RowFunctions& functions_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<StridedReducer>)

}  // namespace tenon::tactics::reduce_strided
