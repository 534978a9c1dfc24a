#include <algorithm>

#include "device/cpu/thread_pool.h"
#include "device/cpu/worker_memory.h"
#include "kernels/cpu_tactic.h"
#include "kernels/integer/integer.h"
#include "kernels/strides.h"
#include "ops/math.h"

namespace tenon::tactics::integer_product {
namespace {

/// An operand's batch strides over the axes of the result (0: repeated), and those of its matrix.
struct Matrix {
  std::vector<int64_t> batch;
  int64_t row = 0, column = 0;
};

Matrix matrix_of(const Operand& operand, int axes, bool transposed) {
  const std::vector<int64_t> strides = strides_of(operand);
  const int own = operand.rank() - 2;
  Matrix m{std::vector<int64_t>(static_cast<size_t>(axes), 0), strides[own], strides[own + 1]};
  for (int i = 0; i < own; ++i)
    if (operand.extents[i] != 1) m.batch[axes - own + i] = strides[i];
  if (transposed) std::swap(m.row, m.column);
  return m;
}

struct Description {
  Matrix a, b, c;
  std::vector<int64_t> batch;
  int64_t rows = 0, columns = 0, depth = 0;
};

Result<Description> describe(const Problem& problem) {
  const auto* op = problem.operation.as<MatMul>();
  if (op == nullptr) return unsupported("not a matmul");
  const Operand &a = problem.input(0), &b = problem.input(1), &c = problem.output();
  if (a.type != DataType::kInt32 || b.type != DataType::kInt32 || c.type != DataType::kInt32)
    return unsupported("a type is not i32");
  if (a.rank() < 2 || b.rank() < 2) return unsupported("an operand is a vector");
  if (a.count() == 0 || b.count() == 0) return unsupported("an empty tensor");
  const int axes = c.rank() - 2;
  Description d;
  d.a = matrix_of(a, axes, op->transpose_a);
  d.b = matrix_of(b, axes, op->transpose_b);
  d.c = matrix_of(c, axes, false);
  d.batch.assign(c.extents.begin(), c.extents.end() - 2);
  d.rows = c.extents[axes], d.columns = c.extents[axes + 1];
  d.depth = a.extents[a.rank() - (op->transpose_a ? 2 : 1)];
  if (d.c.column != 1 && d.columns != 1) return unsupported("columns of the result lie apart");
  return d;
}

class IntegerKernel final : public Kernel {
 public:
  IntegerKernel(const Problem& problem, Description description)
      : d_(std::move(description)),
        function_(cpu::integer_function(cpu::isa_up_to(problem.isa_limit))),
        threads_(std::max(1, problem.threads)) {}

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), threads_));
    int64_t count = 1;
    for (const int64_t extent : d_.batch) count *= extent;
    const int64_t panels = (d_.columns + cpu::kIntegerPanel - 1) / cpu::kIntegerPanel;
    const int64_t work = d_.rows * cpu::kIntegerPanel * d_.depth;
    arguments.queue.pool->for_each(
        count * panels, std::max<int64_t>(1, 65536 / work), [&](int64_t i, int worker) {
          auto* packed = reinterpret_cast<int32_t*>(static_cast<char*>(arguments.workspace) +
                                                    worker * panel_bytes());
          panel(i / panels, i % panels * cpu::kIntegerPanel, arguments, packed);
        });
    return {};
  }
  size_t workspace_bytes() const override { return panel_bytes() * threads_; }

 private:
  size_t panel_bytes() const {
    return cpu::worker_stride(static_cast<size_t>(d_.depth * cpu::kIntegerPanel) * sizeof(int32_t),
                              threads_);
  }

  void pack(const int32_t* b, int64_t columns, int32_t* to) const {
    for (int64_t k = 0; k < d_.depth; ++k, b += d_.b.row, to += cpu::kIntegerPanel) {
      for (int64_t c = 0; c < columns; ++c) to[c] = b[c * d_.b.column];
      std::fill(to + columns, to + cpu::kIntegerPanel, 0);
    }
  }

  void panel(int64_t item, int64_t column, const LaunchArguments& arguments,
             int32_t* packed) const {
    int64_t a_at = 0, b_at = column * d_.b.column, c_at = column;
    for (size_t axis = d_.batch.size(); axis-- > 0;) {
      const int64_t i = item % d_.batch[axis];
      a_at += i * d_.a.batch[axis], b_at += i * d_.b.batch[axis], c_at += i * d_.c.batch[axis];
      item /= d_.batch[axis];
    }
    const int64_t columns = std::min(cpu::kIntegerPanel, d_.columns - column);
    pack(static_cast<const int32_t*>(arguments.inputs[1]) + b_at, columns, packed);
    function_({static_cast<const int32_t*>(arguments.inputs[0]) + a_at, packed,
               static_cast<int32_t*>(arguments.outputs[0]) + c_at, d_.a.row, d_.a.column, d_.c.row,
               d_.rows, columns, d_.depth});
  }

  Description d_;
  cpu::IntegerFunction function_;
  int threads_;
};

}  // namespace

TENON_DESCRIBED_TACTIC(describe, make_kernel<IntegerKernel>)

}  // namespace tenon::tactics::integer_product
