#include <algorithm>

#include "kernels/cpu_tactic.h"
#include "kernels/epilogue/region_epilogue.h"
#include "kernels/gemm/gemm.h"
#include "kernels/strides.h"
#include "ops/math.h"

namespace tenon::tactics {
namespace {

using cpu::BatchDims;
using cpu::kMaxBatchDims;

/// A problem in the kernel's terms.
struct Description {
  cpu::GemmProblem gemm;
  std::vector<cpu::BoundStep> steps;
  int a = 0, b = 1;  ///< problem inputs
};

/// Strides over the batch axes of the output, whose count is `axes`; aligned at the end, 0 where
/// repeated.
BatchDims batch_strides(const Operand& operand, int axes) {
  BatchDims strides{};
  const std::vector<int64_t> own = strides_of(operand);
  const int mine = operand.rank() - 2;
  for (int i = 0; i < mine; ++i) {
    const int at = kMaxBatchDims - axes + (axes - mine) + i;
    if (operand.extents[i] != 1) strides[at] = own[i];
  }
  return strides;
}

cpu::GemmMatrix matrix(const Operand& operand, bool transposed, int axes) {
  const std::vector<int64_t> strides = strides_of(operand);
  const int last = operand.rank() - 1;
  cpu::GemmMatrix m{*cpu::element_type(operand.type), strides[last - 1], strides[last],
                    batch_strides(operand, axes)};
  if (transposed) std::swap(m.row_stride, m.column_stride);
  return m;
}

/// One stride serves for all batch axes and rows: every axis steps over the whole of the next.
bool rows_run_through(const cpu::GemmMatrix& m, const BatchDims& batch, int64_t rows) {
  int64_t expected = m.row_stride * rows;
  for (int i = kMaxBatchDims - 1; i >= 0; --i) {
    if (batch[i] != 1 && m.batch_strides[i] != expected) return false;
    expected *= batch[i];
  }
  return true;
}

/// A product whose B does not change over the batch is one tall product.
void merge_batch_into_rows(Description& d) {
  cpu::GemmProblem& p = d.gemm;
  int64_t count = 1;
  for (int64_t extent : p.batch) count *= extent;
  if (count == 1 || p.b.batch_strides != BatchDims{}) return;
  if (!rows_run_through(p.a, p.batch, p.m) || !rows_run_through(p.c, p.batch, p.m)) return;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    const cpu::GemmMatrix as{.row_stride = d.steps[i].row_stride,
                             .batch_strides = p.step_batch_strides[i]};
    const bool varies = p.steps[i].operand == cpu::OperandKind::full ||
                        p.steps[i].operand == cpu::OperandKind::per_row;
    if (varies ? !rows_run_through(as, p.batch, p.m) : as.batch_strides != BatchDims{}) return;
  }
  p.m *= count;
  p.batch = {1, 1, 1, 1};
  p.a.batch_strides = p.c.batch_strides = {};
  for (BatchDims& strides : p.step_batch_strides) strides = {};
}

Status describe_steps(const Problem& problem, const AnchoredRegion& region, int axes,
                      Description& d) {
  TENON_ASSIGN(d.steps, cpu::matrix_steps(problem, region));
  d.gemm.steps = cpu::plain_steps(d.steps);
  if (d.gemm.steps.size() > cpu::kMaxEpilogueSteps)
    return unsupported("an epilogue of {} steps", d.gemm.steps.size());
  for (const cpu::BoundStep& bound : d.steps) {
    BatchDims strides{};
    for (size_t i = 0; i < bound.outer_strides.size(); ++i)
      strides[kMaxBatchDims - axes + i] = bound.outer_strides[i];
    d.gemm.step_batch_strides.push_back(strides);
  }
  return {};
}

/// The operand with an axis of extent 1 more.
Operand with_axis(const Operand& operand, size_t at) {
  Operand wider = operand;
  wider.strides = strides_of(operand);
  const int64_t stride = at < operand.extents.size() ? operand.extents[at] * wider.strides[at] : 1;
  const auto place = static_cast<std::ptrdiff_t>(at);
  wider.strides.insert(wider.strides.begin() + place, stride);
  wider.extents.insert(wider.extents.begin() + place, 1);
  return wider;
}

/// Operands and result of a product as matrices: vectors are a row and a column.
struct Matrices {
  Matrices(const Operand& left, const Operand& right, const Operand& result)
      : a(left), b(right), c(result) {
    vectors = left.rank() == 1 || right.rank() == 1;
    if (right.rank() == 1) c = with_axis(c, c.extents.size());
    if (left.rank() == 1) c = with_axis(c, c.extents.size() - 1);
    if (left.rank() == 1) a = with_axis(a, 0);
    if (right.rank() == 1) b = with_axis(b, 1);
  }
  Operand a, b, c;
  bool vectors = false;
};

Result<Description> describe(const Problem& problem) {
  TENON_ASSIGN(AnchoredRegion region, anchored_region(problem, {.branches = true, .gated = true}));
  const auto* op = region.anchor.as<MatMul>();
  if (op == nullptr) return unsupported("not a matmul");
  Description d;
  d.a = region.anchor_inputs[0], d.b = region.anchor_inputs[1];
  if (problem.input(d.a).rank() < 1 || problem.input(d.b).rank() < 1)
    return unsupported("an operand is a scalar");
  const Matrices all(problem.input(d.a), problem.input(d.b), problem.output());
  const Operand &a = all.a, &b = all.b, &c = all.c;
  // Steps name the axes of the result as it is.
  const bool is_plain = region.steps.empty() && region.gate == nullptr;
  if (all.vectors && !is_plain) return unsupported("steps behind a vector's product");
  if (c.rank() > 2 + kMaxBatchDims) return unsupported("more than {} batch axes", kMaxBatchDims);
  for (const Operand* operand : {&a, &b, &c})
    if (!cpu::element_type(operand->type))
      return unsupported("type {}; takes f32, bf16", name_of(operand->type));
  if (a.type != b.type)
    return unsupported("operands of {} and {}", name_of(a.type), name_of(b.type));
  const int axes = c.rank() - 2;
  cpu::GemmProblem& p = d.gemm;
  p.m = c.extents[axes], p.n = c.extents[axes + 1] * region.columns_of_result();
  const bool transpose_a = op->transpose_a && problem.input(d.a).rank() > 1;
  const bool transpose_b = op->transpose_b && problem.input(d.b).rank() > 1;
  p.k = a.extents[a.rank() - (transpose_a ? 2 : 1)];
  for (int i = 0; i < axes; ++i) p.batch[kMaxBatchDims - axes + i] = c.extents[i];
  p.a = matrix(a, transpose_a, axes);
  p.b = matrix(b, transpose_b, axes);
  p.c = matrix(c, false, axes);
  p.compute = p.a.type;
  p.threads = std::max(1, problem.threads);
  p.isa = cpu::isa_up_to(problem.isa_limit);
  p.constant_b = problem.input(d.b).constant != nullptr;
  p.packed = problem.packed;
  if (p.c.column_stride != 1 && p.n != 1) return unsupported("columns of the result lie apart");
  p.c.column_stride = 1;
  TENON_TRY(describe_steps(problem, region, axes, d));
  merge_batch_into_rows(d);
  return d;
}

class GemmKernel final : public Kernel {
 public:
  GemmKernel(cpu::Gemm gemm, Description description)
      : gemm_(std::move(gemm)), description_(std::move(description)) {}

  static Result<std::unique_ptr<Kernel>> create(const Problem& problem, Description description) {
    const Tensor* b = problem.input(description.b).constant;
    TENON_ASSIGN(cpu::Gemm gemm, cpu::Gemm::prepare(description.gemm, b ? b->bytes() : nullptr));
    return make_kernel<GemmKernel>(std::move(gemm), std::move(description));
  }

  Status run(const LaunchArguments& arguments) const override {
    TENON_TRY(cpu::check_threads(arguments.queue.pool->threads(), description_.gemm.threads));
    cpu::EpilogueOperand operands[cpu::kMaxEpilogueSteps];
    cpu::bind_operands(description_.steps, arguments, operands);
    gemm_.run({arguments.inputs[description_.a],
               arguments.inputs[description_.b],
               arguments.outputs[0],
               {operands, description_.steps.size()},
               arguments.ahead},
              *arguments.queue.pool, arguments.workspace);
    return {};
  }
  size_t workspace_bytes() const override { return gemm_.scratch_bytes(); }
  bool uses_input(int input) const override {
    if (input == description_.a || cpu::reads_input(description_.steps, input)) return true;
    return input == description_.b && !description_.gemm.constant_b;
  }
  std::span<const std::byte> packed() const override { return gemm_.packed(); }
  bool packs_input(int input) const override {
    return input == description_.b && description_.gemm.constant_b;
  }
  size_t fetch_capacity() const override { return gemm_.fetch_capacity(); }

 private:
  cpu::Gemm gemm_;
  Description description_;
};

/// Each scheme has the weights in one form.
enum class Scheme { plain, strassen, tiles };

Status check_strassen(const Problem& problem, const Description& d) {
  if (!d.gemm.constant_b) return unsupported("the right operand is not constant");
  // A plan whose weights are packed already runs under smaller shapes of its profile too, where the
  // kernel computes plainly.
  if (problem.packed.empty() && !cpu::Gemm::fits_strassen(d.gemm))
    return unsupported("too small for quarters, not f32, or an odd number of panels or steps");
  if (!problem.input(d.a).uniform_rows)
    return unsupported(
        "the left operand's rows may be of different size, and small ones would be rounded to the "
        "large ones");
  return {};
}

Status check_tiles(const Problem& problem, const Description& d) {
  if (!d.gemm.constant_b) return unsupported("the right operand is not constant");
  const cpu::GemmProblem& p = d.gemm;
  if (!cpu::Gemm::fits_tiles(p))
    return unsupported("operands of two types, or a machine without tiles (AMX)");
  // A plan whose weights are packed already runs under smaller shapes of its profile too.
  if (problem.packed.empty() && !cpu::pays_by_tiles(p.compute, p.m, p.n, p.k))
    return unsupported("few rows, columns or steps");
  if (p.compute == cpu::ElementType::f32 && !problem.numerics.bf16_parts)
    return unsupported("an infinity would become no number, which exact numerics forbid");
  return {};
}

Result<Description> describe(const Problem& problem, Scheme scheme) {
  TENON_ASSIGN(Description d, describe(problem));
  if (scheme == Scheme::strassen) TENON_TRY(check_strassen(problem, d));
  if (scheme == Scheme::tiles) TENON_TRY(check_tiles(problem, d));
  d.gemm.strassen = scheme == Scheme::strassen;
  d.gemm.tiles = scheme == Scheme::tiles;
  return d;
}

}  // namespace

#define TENON_PRODUCT_TACTIC(space, scheme)                                          \
  namespace space {                                                                  \
  Support supports(const Problem& problem) {                                         \
    return Support::of(describe(problem, Scheme::scheme));                           \
  }                                                                                  \
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view) { \
    TENON_ASSIGN(Description description, describe(problem, Scheme::scheme));        \
    return GemmKernel::create(problem, std::move(description));                      \
  }                                                                                  \
  }

TENON_PRODUCT_TACTIC(gemm_packed, plain)
TENON_PRODUCT_TACTIC(gemm_strassen, strassen)
TENON_PRODUCT_TACTIC(gemm_tiles, tiles)

}  // namespace tenon::tactics
