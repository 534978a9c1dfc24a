// The reference's products are the same bits whatever vectors the processor has.
#include "ops/small_gemm.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "ops/gemm_reference.h"

namespace tenon {
namespace {

template <class T> std::vector<T> numbers(int64_t count, int step) {
  std::vector<T> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<T>(static_cast<int>(i) * step % 13 - 6) / static_cast<T>(7);
  return values;
}

/// One product and one sum after the other.
template <class T>
std::vector<T> plain_product(const std::array<int64_t, 3>& extents, const std::vector<T>& a,
                             const std::vector<T>& b, T start) {
  const auto [m, n, k] = extents;
  std::vector<T> c(static_cast<size_t>(m * n), start);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t j = 0; j < n; ++j) {
      T sum = 0;
      for (int64_t l = 0; l < k; ++l) {
        const volatile T product = a[i * k + l] * b[l * n + j];
        sum += product;
      }
      c[i * n + j] += sum;
    }
  return c;
}

template <class T> class SmallGemm : public testing::Test {};
using Types = testing::Types<float, double, uint64_t>;
TYPED_TEST_SUITE(SmallGemm, Types);

constexpr std::array<int64_t, 3> kExtents[] = {{16, 64, 32}, {13, 197, 65}, {1, 45, 17},
                                               {37, 1, 9},   {5, 7, 1},     {8, 31, 0},
                                               {9, 63, 20},  {2, 150, 9}};

TYPED_TEST(SmallGemm, AddsProductsInOrder) {
  for (const auto& extents : kExtents) {
    const auto [m, n, k] = extents;
    const auto a = numbers<TypeParam>(m * k, 7), b = numbers<TypeParam>(k * n, 5);
    std::vector<TypeParam> c(static_cast<size_t>(m * n), TypeParam(2));
    multiply_add(m, n, k, a.data(), k, b.data(), n, c.data(), n);
    EXPECT_EQ(c, plain_product(extents, a, b, TypeParam(2))) << m << " " << n << " " << k;
  }
}

TYPED_TEST(SmallGemm, ReadsRowsWhereverTheyLie) {
  for (const auto& extents : kExtents) {
    const auto [m, n, k] = extents;
    const auto a = numbers<TypeParam>(m * k, 7), image = numbers<TypeParam>(n + 3 * k, 5);
    std::vector<TypeParam> b;
    std::vector<int64_t> rows;
    for (int64_t l = 0; l < k; ++l) {
      rows.push_back(l % 2 == 0 ? 3 * l : l);
      b.insert(b.end(), image.begin() + rows.back(), image.begin() + rows.back() + n);
    }
    std::vector<TypeParam> c(static_cast<size_t>(m * n), TypeParam(2));
    multiply_add(m, n, k, a.data(), k, image.data(), rows.data(), c.data(), n);
    EXPECT_EQ(c, plain_product(extents, a, b, TypeParam(2))) << m << " " << n << " " << k;
  }
}

TYPED_TEST(SmallGemm, ReadsOperandsThatAreTransposed) {
  for (const auto& extents : kExtents) {
    const auto [m, n, k] = extents;
    const auto a = numbers<TypeParam>(m * k, 7), b = numbers<TypeParam>(k * n, 5);
    std::vector<TypeParam> at(a.size()), bt(b.size()), c(static_cast<size_t>(m * n), TypeParam(3));
    for (int64_t i = 0; i < m * k; ++i) at[i % k * m + i / k] = a[i];
    for (int64_t i = 0; i < k * n; ++i) bt[i % n * k + i / n] = b[i];
    multiply_matrices<TypeParam>(m, n, k, {at.data(), 1, m}, {bt.data(), 1, k}, c.data());
    EXPECT_EQ(c, plain_product(extents, a, b, TypeParam(0))) << m << " " << n << " " << k;
  }
}

}  // namespace
}  // namespace tenon
