#include "kernels/gemm/gemm.h"

#include <algorithm>

#include "device/cpu/aligned_buffer.h"
#include "device/cpu/worker_memory.h"

namespace tenon::cpu {
namespace {

int64_t count_of(const BatchDims& dims) {
  int64_t count = 1;
  for (int64_t dim : dims) count *= dim;
  return count;
}

BatchDims unflatten(int64_t index, const BatchDims& dims) {
  BatchDims at{};
  for (int i = kMaxBatchDims - 1; i >= 0; --i) {
    at[i] = index % dims[i];
    index /= dims[i];
  }
  return at;
}

int64_t offset_of(const BatchDims& at, const BatchDims& strides) {
  int64_t offset = 0;
  for (int i = 0; i < kMaxBatchDims; ++i) offset += at[i] * strides[i];
  return offset;
}

/// The batch that B really has: its broadcast dimensions are packed once.
BatchDims own_batch(const GemmProblem& problem) {
  BatchDims dims = problem.batch;
  for (int i = 0; i < kMaxBatchDims; ++i)
    if (problem.b.batch_strides[i] == 0) dims[i] = 1;
  return dims;
}

int64_t own_index(const BatchDims& at, const BatchDims& dims) {
  int64_t index = 0;
  for (int i = 0; i < kMaxBatchDims; ++i) index = index * dims[i] + (dims[i] == 1 ? 0 : at[i]);
  return index;
}

Status check(const GemmProblem& problem) {
  if (problem.m < 0 || problem.n < 0 || problem.k < 0)
    return internal_error("negative extents {} x {} x {}", problem.m, problem.n, problem.k);
  if (problem.c.column_stride != 1) return unsupported("columns of the result must be adjacent");
  if (problem.steps.size() > kMaxEpilogueSteps)
    return unsupported("an epilogue of {} steps (at most {})", problem.steps.size(),
                       kMaxEpilogueSteps);
  if (problem.step_batch_strides.size() > problem.steps.size())
    return internal_error("more strides than steps");
  return {};
}

StrassenProduct plan_strassen(const GemmProblem& problem) {
  const bool fits = count_of(problem.batch) == 1 && problem.a.type == ElementType::f32 &&
                    problem.c.type == ElementType::f32 && problem.compute == ElementType::f32 &&
                    problem.a.column_stride == 1;
  if (!fits) return {};
  return StrassenProduct::plan(microkernels(problem.compute, capped_isa(problem.isa)), problem.m,
                               problem.n, problem.k, problem.steps, problem.threads);
}

}  // namespace

bool Gemm::fits_strassen(const GemmProblem& problem) {
  return plan_strassen(problem).usable();
}

bool Gemm::fits_tiles(const GemmProblem& problem) {
  return problem.a.type == problem.compute && problem.b.type == problem.compute &&
         tile_microkernels(problem.compute, capped_isa(problem.isa)) != nullptr;
}

Result<Gemm> Gemm::prepare(const GemmProblem& problem, const void* b) {
  TENON_TRY(check(problem));
  if (problem.tiles && !fits_tiles(problem)) return unsupported("no tiles of such a product");
  Gemm gemm;
  gemm.problem_ = problem;
  gemm.problem_.step_batch_strides.resize(problem.steps.size());
  const Isa isa = capped_isa(problem.isa);
  const Microkernels& kernels =
      problem.tiles ? *tile_microkernels(problem.compute, isa) : microkernels(problem.compute, isa);
  gemm.direct_a_ = problem.a.type == kernels.type && problem.a.column_stride == 1 &&
                   can_read_directly(kernels, problem.k, problem.a.row_stride);
  gemm.plan_ =
      plan_product(kernels, problem.m, problem.n, problem.k, problem.c.type, problem.steps,
                   gemm.batch_count(), problem.threads, !gemm.direct_a_, {}, problem.makes_panels);
  if (!problem.makes_panels)
    gemm.packed_each_ = align_up(tenon::cpu::packed_bytes(kernels, problem.k, problem.n));
  if (!problem.constant_b) return gemm;
  if (problem.strassen) gemm.strassen_ = plan_strassen(problem);
  TENON_ASSIGN(gemm.packed_,
               PackedWeights::make(gemm.packed_each_ * gemm.b_count(), problem.packed, b));
  if (!gemm.packed_.filled()) {
    ThreadPool pool(packing_threads(gemm.packed_.bytes().size(), problem.threads));
    gemm.pack_all_b(b, pool, gemm.packed_.target());
  }
  return gemm;
}

int64_t Gemm::batch_count() const {
  return count_of(problem_.batch);
}
int64_t Gemm::b_count() const {
  return count_of(own_batch(problem_));
}

int64_t Gemm::task_count() const {
  return batch_count() * plan_.row_tasks() * plan_.column_tasks();
}
size_t Gemm::fetch_capacity() const {
  if (strassen_.usable()) return strassen_.fetch_capacity();
  return task_count() * plan_.fetch_bytes_of_task();
}

size_t Gemm::scratch_bytes() const {
  if (strassen_.usable()) return strassen_.scratch_bytes();
  const size_t workers =
      worker_stride(plan_.worker_scratch_bytes(), problem_.threads) * problem_.threads;
  return workers + plan_.staged_bytes() + (problem_.constant_b ? 0 : packed_each_ * b_count());
}

void Gemm::pack_all_b(const void* b, ThreadPool& pool, void* to) const {
  const BatchDims dims = own_batch(problem_);
  const int64_t panel = plan_.kernels->panel;
  const int64_t panels = (problem_.n + panel - 1) / panel;
  pool.for_each(b_count() * panels, 1, [&](int64_t i) {
    const int64_t item = i / panels, p = i % panels;
    const MatrixView all{b, problem_.b.type, problem_.b.row_stride, problem_.b.column_stride};
    const int64_t offset = offset_of(unflatten(item, dims), problem_.b.batch_strides);
    MatrixView one = all;
    one.data = static_cast<const char*>(b) + offset * element_size(problem_.b.type);
    pack_panels(*plan_.kernels, one, problem_.k, problem_.n, p, p + 1,
                static_cast<char*>(to) + item * packed_each_);
  });
}

void Gemm::run_strassen(const GemmArguments& arguments, ThreadPool& pool, void* scratch) const {
  const ProductOperands product{.a = arguments.a,
                                .a_stride = problem_.a.row_stride,
                                .b = packed_.bytes().data(),
                                .output = arguments.c,
                                .output_stride = problem_.c.row_stride,
                                .operands = arguments.operands.data(),
                                .ahead = arguments.ahead};
  strassen_.run(product, pool, scratch);
}

void Gemm::run(const GemmArguments& arguments, ThreadPool& pool, void* scratch) const {
  if (problem_.m == 0 || problem_.n == 0) return;
  if (strassen_.usable()) return run_strassen(arguments, pool, scratch);
  char* free = static_cast<char*>(scratch);
  const size_t worker_bytes = worker_stride(plan_.worker_scratch_bytes(), problem_.threads);
  char* workers = free;
  const void* packed = packed_.bytes().data();
  if (!problem_.constant_b && !problem_.makes_panels) {
    void* to = free + worker_bytes * problem_.threads;
    pack_all_b(arguments.b, pool, to);
    packed = to;
  }
  const char* staged = plan_.staged ? free + worker_bytes * problem_.threads +
                                          (problem_.constant_b ? 0 : packed_each_ * b_count())
                                    : nullptr;
  if (staged != nullptr) {
    const MatrixView a{arguments.a, problem_.a.type, problem_.a.row_stride,
                       problem_.a.column_stride};
    const auto gather = [&](int64_t r, int64_t rows, int64_t k, int64_t count, void* to,
                            int64_t stride) {
      pack_rows(*plan_.kernels, a.at(r, k), rows, count, to, stride);
    };
    stage_rows(plan_, RowSource(gather), pool, const_cast<char*>(staged));
  }
  const int64_t tasks = task_count();
  pool.for_each(tasks, 1, [&](int64_t task, int worker) {
    run_task(arguments, packed, staged, task, workers + worker * worker_bytes);
  });
}

// Tasks run over rows fastest: neighbours share a block of B.
void Gemm::run_task(const GemmArguments& arguments, const void* packed, const void* staged,
                    int64_t task, void* scratch) const {
  const auto ahead = part_of(arguments.ahead, task, task_count());
  const int64_t each = plan_.row_tasks() * plan_.column_tasks();
  const auto [row_task, column] = plan_.place_of(task % each);
  const int64_t row = row_task * plan_.row_block;
  const BatchDims at = unflatten(task / each, problem_.batch);
  const auto moved = [&](const void* p, const GemmMatrix& matrix) {
    return static_cast<const char*>(p) +
           offset_of(at, matrix.batch_strides) * element_size(matrix.type);
  };
  EpilogueOperand operands[kMaxEpilogueSteps];
  for (size_t i = 0; i < arguments.operands.size(); ++i) {
    operands[i] = arguments.operands[i];
    operands[i].data = static_cast<const char*>(operands[i].data) +
                       offset_of(at, problem_.step_batch_strides[i]) *
                           element_size(problem_.steps[i].operand_type);
  }
  const MatrixView a{moved(arguments.a, problem_.a), problem_.a.type, problem_.a.row_stride,
                     problem_.a.column_stride};
  const auto gather = [&](int64_t r, int64_t rows, int64_t k, int64_t count, void* to,
                          int64_t stride) {
    pack_rows(*plan_.kernels, a.at(r, k), rows, count, to, stride);
  };
  const RowSource source(gather);
  ProductOperands product{
      .a = staged != nullptr ? staged : a.data,
      .a_stride = staged != nullptr ? plan_.staged_stride() : problem_.a.row_stride,
      .source = direct_a_ || staged != nullptr ? nullptr : &source,
      .b = static_cast<const char*>(packed) + own_index(at, own_batch(problem_)) * packed_each_,
      .panels = arguments.panels,
      .output = const_cast<char*>(moved(arguments.c, problem_.c)),
      .output_stride = problem_.c.row_stride,
      .operands = operands,
      .ahead = ahead};
  run_product(plan_, product, row, std::min(plan_.row_block, problem_.m - row), column,
              std::min(plan_.column_block, problem_.n - column), scratch);
}

}  // namespace tenon::cpu
