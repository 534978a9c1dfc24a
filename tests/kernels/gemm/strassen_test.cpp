#include "kernels/gemm/strassen.h"

#include <gtest/gtest.h>

#include <cmath>

#include "../../tolerances.h"
#include "buffer.h"
#include "device/cpu/aligned_buffer.h"
#include "kernels/gemm/gemm.h"

namespace tenon::cpu {
namespace {

constexpr double kElement = test::relative_tolerance("kTransform", "kFloat32");

struct Case {
  int64_t m, n, k;
  int epilogue = 0;
  int64_t row_padding = 5;
};

std::ostream& operator<<(std::ostream& os, const Case& c) {
  return os << c.m << "x" << c.n << "x" << c.k << " epilogue" << c.epilogue;
}

/// One product of packed weights, computed by Strassen's scheme and, in double, element by element.
struct Setup {
  Case c;
  GemmProblem problem;
  std::mt19937 random{11};
  int64_t a_stride, c_stride;
  Buffer a, b;
  std::vector<Buffer> step_buffers;
  std::vector<EpilogueOperand> operands;

  explicit Setup(const Case& with)
      : c(with),
        a_stride(c.k + c.row_padding),
        c_stride(c.n + 3),
        a(ElementType::f32, c.m * a_stride, random),
        b(ElementType::f32, c.k * c.n, random) {
    problem.m = c.m, problem.n = c.n, problem.k = c.k;
    problem.a = {ElementType::f32, a_stride, 1, {}};
    problem.b = {ElementType::f32, c.n, 1, {}};
    problem.c = {ElementType::f32, c_stride, 1, {}};
    problem.constant_b = true;
    problem.steps = sample_epilogue(c.epilogue, ElementType::f32);
    for (const EpilogueStep& s : problem.steps)
      step_buffers.emplace_back(s.operand_type, c.m * c_stride, random);
    for (Buffer& buffer : step_buffers) operands.push_back({buffer.bytes.data(), c_stride});
  }

  bool usable(Isa isa) const {
    const Microkernels& kernels = microkernels(ElementType::f32, isa);
    return StrassenProduct::plan(kernels, c.m, c.n, c.k, problem.steps, 1).usable();
  }

  Buffer run(Isa isa, int threads) {
    problem.isa = isa;
    problem.threads = threads;
    auto gemm = Gemm::prepare(problem, b.bytes.data());
    EXPECT_TRUE(gemm.ok());
    Buffer result = Buffer::poisoned(ElementType::f32, c.m * c_stride);
    AlignedBuffer scratch(gemm->scratch_bytes());
    std::memset(scratch.data(), 0xff, scratch.size());
    ThreadPool pool(threads);
    gemm->run({a.bytes.data(), nullptr, result.bytes.data(), operands}, pool, scratch.data());
    return result;
  }

  double expected(int64_t row, int64_t column) const {
    double sum = 0;
    for (int64_t k = 0; k < c.k; ++k)
      sum += double(a.values[row * a_stride + k]) * b.values[k * c.n + column];
    for (size_t s = 0; s < problem.steps.size(); ++s) {
      int64_t index = 0;
      if (problem.steps[s].operand == OperandKind::per_column) index = column;
      if (problem.steps[s].operand == OperandKind::per_row) index = row;
      if (problem.steps[s].operand == OperandKind::full) index = row * c_stride + column;
      sum = apply_exactly(problem.steps[s], sum, step_buffers[s].values[index]);
    }
    return sum;
  }

  /// Rows at the borders of halves and blocks; errors relative to the norm of the whole.
  void check(const Buffer& result) const {
    double difference = 0, norm = 0;
    for (int64_t row = 0; row < c.m; row += row + 3 < c.m ? 3 : 1) {
      for (int64_t column = 0; column < c.n; ++column) {
        const double want = expected(row, column), got = result.at(row * c_stride + column);
        ASSERT_LT(std::fabs(got - want), kElement) << "at " << row << "," << column;
        difference += (got - want) * (got - want), norm += want * want;
      }
      for (int64_t column = c.n; column < c_stride; ++column)
        ASSERT_TRUE(std::isnan(result.at(row * c_stride + column))) << "wrote behind a row";
    }
    EXPECT_LT(std::sqrt(difference / norm), 2e-6);
  }
};

void check_everywhere(const Case& c) {
  SCOPED_TRACE(testing::Message() << c);
  Setup setup(c);
  for (Isa isa : available_levels()) {
    SCOPED_TRACE(isa_name(isa));
    ASSERT_TRUE(setup.usable(isa));
    const Buffer one = setup.run(isa, 1);
    setup.check(one);
    for (int threads = 2; threads <= 3; ++threads)
      ASSERT_EQ(one.bytes, setup.run(isa, threads).bytes) << threads << " threads differ";
  }
}

TEST(Strassen, HalvesBlocksAndOddRows) {
  for (const Case& c : {Case{128, 384, 768}, Case{97, 448, 384}, Case{131, 384, 1030}})
    check_everywhere(c);
}

// Rows of 1,024 floats fall on the same cache sets.
TEST(Strassen, CopiesRows) {
  const Microkernels& kernels = microkernels(ElementType::f32, detected_isa());
  ASSERT_FALSE(can_read_directly(kernels, 1024, 1024));
  check_everywhere({.m = 101, .n = 384, .k = 1024, .epilogue = 0, .row_padding = 0});
}

TEST(Strassen, Epilogues) {
  for (int which = 1; which < kEpilogues; ++which) check_everywhere({99, 384, 384, which});
}

TEST(Strassen, SmallProductsStayPlain) {
  const Microkernels& kernels = microkernels(ElementType::f32, detected_isa());
  EXPECT_FALSE(StrassenProduct::plan(kernels, 32, 768, 768, {}, 2).usable());
  EXPECT_FALSE(StrassenProduct::plan(kernels, 128, 768, 64, {}, 2).usable());
  EXPECT_FALSE(StrassenProduct::plan(kernels, 128, 1000, 768, {}, 2).usable());
  EXPECT_TRUE(StrassenProduct::plan(kernels, 128, 768, 768, {}, 2).usable());
}

}  // namespace
}  // namespace tenon::cpu
