#include "kernels/gemm/gemm.h"

#include <gtest/gtest.h>

#include "buffer.h"
#include "device/cpu/aligned_buffer.h"

namespace tenon::cpu {
namespace {

struct Case {
  int64_t m, n, k;
  int64_t outer = 1, inner = 1;
  bool transpose_a = false, transpose_b = false, constant_b = true, share_b = false;
  ElementType in = ElementType::f32, out = ElementType::f32;
  int epilogue = 0;
};

std::ostream& operator<<(std::ostream& os, const Case& c) {
  return os << c.m << "x" << c.n << "x" << c.k << " batch " << c.outer << "x" << c.inner << " tA"
            << c.transpose_a << " tB" << c.transpose_b << " const" << c.constant_b << " shared"
            << c.share_b << " in" << int(c.in) << " out" << int(c.out) << " epilogue" << c.epilogue;
}

/// A case's operands, problem and expected result.
struct Setup {
  Case c;
  GemmProblem problem;
  std::mt19937 random{7};
  int64_t pad = 3;  // rows are longer than their contents
  Buffer a, b;
  std::vector<Buffer> step_buffers;
  std::vector<EpilogueOperand> operands;
  int64_t c_stride;

  explicit Setup(const Case& with)
      : c(with),
        a(c.in, c.outer * c.inner * a_size(), random),
        b(c.in, (c.share_b ? 1 : c.outer * c.inner) * b_size(), random),
        c_stride(c.n + pad) {
    problem.m = c.m, problem.n = c.n, problem.k = c.k;
    problem.batch = {1, c.outer, 1, c.inner};
    problem.compute = c.in;
    problem.a = matrix(c.in, c.transpose_a, c.m, c.k, a_size());
    problem.b = matrix(c.in, c.transpose_b, c.k, c.n, b_size());
    if (c.share_b) problem.b.batch_strides = {};
    problem.c = {c.out, c_stride, 1, batch_strides(c.m * c_stride)};
    problem.steps = sample_epilogue(c.epilogue, c.out);
    for (const EpilogueStep& s : problem.steps) add_operand(s);
    for (Buffer& buffer : step_buffers) operands.push_back({buffer.bytes.data(), c_stride});
  }
  int64_t a_size() const { return (c.m + pad) * (c.k + pad); }
  int64_t b_size() const { return (c.n + pad) * (c.k + pad); }
  int64_t c_size() const { return c.outer * c.inner * c.m * c_stride; }
  BatchDims batch_strides(int64_t item) const { return {0, c.inner * item, 0, item}; }
  GemmMatrix matrix(ElementType t, bool transposed, int64_t rows, int64_t columns,
                    int64_t size) const {
    if (transposed) return {t, 1, rows + pad, batch_strides(size)};
    return {t, columns + pad, 1, batch_strides(size)};
  }
  void add_operand(const EpilogueStep& s) {
    const bool full = s.operand == OperandKind::full;
    step_buffers.emplace_back(s.operand_type, full ? c_size() : c.m + c.n, random);
    problem.step_batch_strides.push_back(full ? batch_strides(c.m * c_stride) : BatchDims{});
  }

  double expected(int64_t item, int64_t row, int64_t column, double* magnitude) const {
    double sum = 0;
    *magnitude = 1;
    const int64_t b0 = c.share_b ? 0 : item * b_size();
    for (int64_t k = 0; k < c.k; ++k) {
      const double x =
          a.values[item * a_size() + row * problem.a.row_stride + k * problem.a.column_stride];
      const double y = b.values[b0 + k * problem.b.row_stride + column * problem.b.column_stride];
      sum += x * y;
      *magnitude += std::fabs(x * y);
    }
    for (size_t s = 0; s < problem.steps.size(); ++s) {
      int64_t index = 0;
      if (problem.steps[s].operand == OperandKind::per_column) index = column;
      if (problem.steps[s].operand == OperandKind::per_row) index = row;
      if (problem.steps[s].operand == OperandKind::full)
        index = (item * c.m + row) * c_stride + column;
      sum = apply_exactly(problem.steps[s], sum, step_buffers[s].values[index]);
    }
    return sum;
  }

  Buffer run(Isa isa, int threads) {
    problem.isa = isa;
    problem.threads = threads;
    problem.constant_b = c.constant_b;
    auto gemm = Gemm::prepare(problem, c.constant_b ? b.bytes.data() : nullptr);
    EXPECT_TRUE(gemm.ok());
    Buffer result = Buffer::poisoned(c.out, c_size());
    AlignedBuffer scratch(gemm->scratch_bytes());
    std::memset(scratch.data(), 0xff, scratch.size());
    ThreadPool pool(threads);
    gemm->run({a.bytes.data(), b.bytes.data(), result.bytes.data(), operands}, pool,
              scratch.data());
    return result;
  }

  void check(const Buffer& result) const {
    int failures = 0;
    for (int64_t i = 0; i < c_size() && failures < 4; ++i) {
      const int64_t column = i % c_stride, row = i / c_stride % c.m;
      const float got = result.at(i);
      if (column >= c.n) {
        ASSERT_TRUE(std::isnan(got)) << "wrote behind a row";
        continue;
      }
      double magnitude;
      const double want = expected(i / (c_stride * c.m), row, column, &magnitude);
      const double epsilon = c.out == ElementType::bf16 ? 1.0 / 128 : 2e-6;
      if (!(std::fabs(got - want) <= epsilon * magnitude) && ++failures)
        ADD_FAILURE() << "at " << row << "," << column << ": " << got << " instead of " << want;
    }
  }
};

void check_by_threads(Setup& setup, Isa isa) {
  SCOPED_TRACE(isa_name(isa));
  const Buffer one = setup.run(isa, 1);
  setup.check(one);
  for (int threads = 2; threads <= 4; ++threads)
    ASSERT_EQ(one.bytes, setup.run(isa, threads).bytes) << threads << " threads differ";
}

void check_everywhere(const Case& c) {
  SCOPED_TRACE(testing::Message() << c);
  Setup setup(c);
  for (Isa isa : available_levels()) check_by_threads(setup, isa);
  if (!Gemm::fits_tiles(setup.problem)) return;
  SCOPED_TRACE("tiles");
  setup.problem.tiles = true;
  check_by_threads(setup, detected_isa());
}

TEST(Gemm, EveryTileHeightAndColumnTail) {
  for (int64_t m = 1; m <= 15; ++m)
    for (int64_t n : {1, 8, 9, 15, 16, 20, 24, 25, 31, 33, 40, 56, 64, 70})
      check_everywhere({m, n, 19});
}

TEST(Gemm, BlocksOfRowsColumnsAndK) {
  for (const Case& c : {Case{130, 70, 600}, Case{57, 1030, 40}, Case{3, 200, 1100},
                        Case{29, 65, 512}, Case{60, 33, 2048}, Case{5, 5, 0}, Case{1, 1, 1}})
    check_everywhere(c);
}

TEST(Gemm, TransposesBatchesAndDynamicB) {
  for (int bits = 0; bits < 16; ++bits) {
    Case c{37, 45, 53, 2, 3};
    c.transpose_a = bits & 1, c.transpose_b = bits & 2;
    c.constant_b = bits & 4, c.share_b = bits & 8;
    check_everywhere(c);
  }
}

TEST(Gemm, Epilogues) {
  for (int which = 1; which < kEpilogues; ++which) {
    Case c{31, 75, 300, 1, 2};
    c.epilogue = which;
    check_everywhere(c);
    c.out = ElementType::bf16;
    check_everywhere(c);
    c.k = 20;
    check_everywhere(c);
  }
}

TEST(Gemm, Bf16) {
  for (int64_t k : {1, 2, 31, 64, 1030}) {
    for (int64_t m : {1, 14, 37}) {
      Case c{m, 75, k, 2, 1};
      c.in = ElementType::bf16;
      c.transpose_b = k & 1;
      c.constant_b = m != 14;
      c.epilogue = k == 64 ? 2 : 0;
      check_everywhere(c);
      c.out = ElementType::bf16;
      check_everywhere(c);
    }
  }
}

TEST(Gemm, RefusesScatteredColumns) {
  GemmProblem problem;
  problem.m = problem.n = problem.k = 2;
  problem.c.column_stride = 2;
  EXPECT_FALSE(Gemm::prepare(problem).ok());
}

}  // namespace
}  // namespace tenon::cpu
