// New rows of a decoder's cache, where each sequence ends.
#include "kernels/cpu_tactic.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/strides.h"
#include "ops/movement.h"

namespace tenon::tactics::scatter_cache {
namespace {

enum Input { kCache, kUpdate, kStarts };

struct Description {
  cpu::StridedCopy whole;  ///< Of the cache.
  cpu::StridedCopy rows;   ///< Of one sequence's update, to its first row.
  int64_t batch = 0, from_batch = 0, to_batch = 0, to_row = 0;  ///< The last three in elements.
  int64_t steps = 0, length = 0;
  int64_t start_stride = 0;
  bool wide = false;  ///< i64 and not i32.
  int bytes = 0;
};

template <class T> std::vector<T> behind_first(const std::vector<T>& list) {
  return {list.begin() + 1, list.end()};
}

Result<Description> describe(const Problem& problem) {
  const auto* op = problem.operation.as<TensorScatter>();
  if (op == nullptr) return unsupported("not an update of a cache");
  const Operand &cache = problem.input(kCache), &update = problem.input(kUpdate);
  const Operand& y = problem.output();
  if (op->circular) return unsupported("a cache that is a ring");
  if (update.count() == 0) return unsupported("an empty update");
  Description d;
  d.bytes = static_cast<int>(byte_size(y.type));
  if (d.bytes == 0) return unsupported("elements of less than a byte");
  const std::vector<int64_t> from = strides_of(update), to = strides_of(y);
  const auto axis = static_cast<size_t>(op->axis < 0 ? op->axis + y.rank() : op->axis);
  d.whole = cpu::StridedCopy::make(y.extents, strides_of(cache), to, d.bytes);
  d.rows = cpu::StridedCopy::make(behind_first(update.extents), behind_first(from),
                                  behind_first(to), d.bytes);
  d.batch = y.extents[0], d.from_batch = from[0], d.to_batch = to[0], d.to_row = to[axis];
  d.steps = update.extents[axis], d.length = y.extents[axis];
  if (!problem.has_input(kStarts)) return d;
  const Operand& starts = problem.input(kStarts);
  if (starts.type != DataType::kInt64 && starts.type != DataType::kInt32)
    return unsupported("places that are neither i64 nor i32");
  d.wide = starts.type == DataType::kInt64;
  d.start_stride = strides_of(starts)[0];
  return d;
}

class CacheKernel final : public Kernel {
 public:
  CacheKernel(const Problem&, const Description& description) : d_(description) {}

  Status run(const LaunchArguments& arguments) const override {
    const void* starts = arguments.inputs.size() > kStarts ? arguments.inputs[kStarts] : nullptr;
    for (int64_t i = 0; i < d_.batch; ++i)
      if (const int64_t start = start_of(starts, i); start < 0 || start > d_.length - d_.steps)
        return user_error("write index {} with {} steps is outside a cache of {}", start, d_.steps,
                          d_.length);
    cpu::ThreadPool& pool = *arguments.queue.pool;
    d_.whole.run(arguments.inputs[kCache], arguments.outputs[0], pool);
    const auto* from = static_cast<const char*>(arguments.inputs[kUpdate]);
    auto* to = static_cast<char*>(arguments.outputs[0]);
    for (int64_t i = 0; i < d_.batch; ++i)
      d_.rows.run(from + i * d_.from_batch * d_.bytes,
                  to + (i * d_.to_batch + start_of(starts, i) * d_.to_row) * d_.bytes, pool);
    return {};
  }

 private:
  int64_t start_of(const void* starts, int64_t sequence) const {
    if (starts == nullptr) return 0;
    const int64_t at = sequence * d_.start_stride;
    return d_.wide ? static_cast<const int64_t*>(starts)[at]
                   : static_cast<const int32_t*>(starts)[at];
  }

  Description d_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<CacheKernel>)

}  // namespace tenon::tactics::scatter_cache
