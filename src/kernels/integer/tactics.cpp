#include <algorithm>

#include "device/cpu/aligned_buffer.h"
#include "device/cpu/thread_pool.h"
#include "kernels/integer/integer.h"
#include "kernels/movement/strided_copy.h"
#include "kernels/tactic.h"
#include "ops/math.h"

namespace tenon::tactics::integer_product {
namespace {

std::vector<int64_t> strides_of(const Operand& operand) {
  return operand.dense() ? dense_strides(operand.extents, operand.layout) : operand.strides;
}

cpu::IntegerFunction function_for(cpu::Isa isa) {
#if defined(__x86_64__)
  if (isa >= cpu::Isa::avx512) return cpu::integer_product_avx512();
  if (isa >= cpu::Isa::avx2) return cpu::integer_product_avx2();
#endif
  (void)isa;
  return cpu::integer_product_generic();
}

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
  bool copies_b = false;  ///< To rows that are contiguous, before each product.
};

Result<Description> describe(const Problem& problem) {
  const auto* op = problem.node->as<MatMul>();
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
  d.copies_b = d.b.column != 1 && d.columns != 1;
  const bool repeated =
      std::all_of(d.b.batch.begin(), d.b.batch.end(), [](int64_t stride) { return stride == 0; });
  if (d.copies_b && !repeated) return unsupported("several transposed operands");
  return d;
}

class IntegerKernel final : public Kernel {
 public:
  IntegerKernel(Description description, cpu::Isa isa)
      : d_(std::move(description)), function_(function_for(isa)) {
    if (!d_.copies_b) return;
    copy_ =
        cpu::StridedCopy::make({d_.depth, d_.columns}, {d_.b.row, d_.b.column}, {d_.columns, 1}, 4);
    d_.b.row = d_.columns;
  }

  Status run(const LaunchArguments& arguments) const override {
    const void* b = arguments.inputs[1];
    if (d_.copies_b) {
      copy_.run(b, arguments.workspace, *arguments.queue.pool);
      b = arguments.workspace;
    }
    int64_t count = 1;
    for (const int64_t extent : d_.batch) count *= extent;
    const int64_t blocks = (d_.rows + kRows - 1) / kRows;
    const int64_t work = kRows * d_.columns * d_.depth;
    arguments.queue.pool->parallel_for(count * blocks, std::max<int64_t>(1, 65536 / work),
                                       [&](int64_t begin, int64_t end, int) {
                                         for (int64_t i = begin; i < end; ++i)
                                           block(i / blocks, i % blocks * kRows, arguments, b);
                                       });
    return {};
  }
  size_t workspace_bytes() const override {
    return d_.copies_b ? static_cast<size_t>(d_.depth * d_.columns) * sizeof(int32_t) : 0;
  }

 private:
  static constexpr int64_t kRows = 48;

  void block(int64_t item, int64_t row, const LaunchArguments& arguments, const void* b) const {
    int64_t a_at = row * d_.a.row, b_at = 0, c_at = row * d_.c.row;
    for (size_t axis = d_.batch.size(); axis-- > 0;) {
      const int64_t i = item % d_.batch[axis];
      a_at += i * d_.a.batch[axis], b_at += i * d_.b.batch[axis], c_at += i * d_.c.batch[axis];
      item /= d_.batch[axis];
    }
    function_({static_cast<const int32_t*>(arguments.inputs[0]) + a_at,
               static_cast<const int32_t*>(b) + b_at,
               static_cast<int32_t*>(arguments.outputs[0]) + c_at, d_.a.row, d_.a.column, d_.b.row,
               d_.c.row, std::min(kRows, d_.rows - row), d_.columns, d_.depth});
  }

  Description d_;
  cpu::IntegerFunction function_;
  cpu::StridedCopy copy_;
};

}  // namespace

Support supports(const Problem& problem) {
  const auto d = describe(problem);
  return d.ok() ? Support{} : Support::no(d.error().message);
}

std::vector<std::string> configs(const Problem& problem) {
  return single_config(problem);
}

Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) {
  TENON_ASSIGN(Description d, describe(problem));
  return std::unique_ptr<Kernel>(
      std::make_unique<IntegerKernel>(std::move(d), cpu::isa_up_to(problem.isa_limit)));
}

}  // namespace tenon::tactics::integer_product
