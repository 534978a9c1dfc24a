// Products of few rows with constant weights of 4 and 8 bits, which are dequantized in the region.
#include <cmath>

#include "kernels/jit/kernel_case.h"

namespace tenon::test {
namespace {

using enum PointwiseFunction;

constexpr DataType kI4 = DataType::kInt4, kU4 = DataType::kUInt4, kI8 = DataType::kInt8,
                   kU8 = DataType::kUInt8, kFloat = DataType::kFloat32, kF16 = DataType::kFloat16,
                   kBf16 = DataType::kBFloat16;

enum class Zeros { kNone, kOne, kEach };  ///< kEach: as many as there are scales.
/// kInfinite: a number of the first row is.
enum class End { kNone, kBias, kResidual, kWide, kInfinite };

struct Product {
  DataType x, weights, scales;
  Extents rows;            ///< The last extent is the depth.
  int64_t columns, block;  ///< 0: scales of columns; -1: one.
  Zeros zeros;
  bool transpose_b;
  End end;
};

Tensor weights_of(DataType type, Extents extents, int seed) {
  const bool nibbles = type == kI4 || type == kU4, is_signed = type == kI4 || type == kI8;
  const int64_t count = nibbles ? 16 : 256, least = is_signed ? -count / 2 : 0;
  return random_integers(type, std::move(extents), seed, least, least + count - 1);
}

void add_product(Cases& cases, int number, const Product& p) {
  const int64_t depth = p.rows.back();
  const int64_t along = p.transpose_b ? 1 : 0;
  Extents extents = {depth, p.columns};
  if (p.transpose_b) std::swap(extents[0], extents[1]);
  Dequantize op;
  op.axis = p.block > 0 ? along : 1 - along;
  op.block_size = std::max<int64_t>(p.block, 0);
  op.to = p.x;
  Extents numbers = {p.columns};
  if (p.block < 0) numbers = {};
  if (p.block > 0) {
    numbers = extents;
    numbers[along] = (depth + p.block - 1) / p.block;
  }
  const double unit = p.weights == kI4 || p.weights == kU4 ? 0.02 : 0.001;
  std::vector<CaseInput> operands = {
      constant(weights_of(p.weights, extents, number)),
      constant(random_reals(p.scales, numbers, number + 1, unit / 2, unit))};
  if (p.zeros == Zeros::kEach)
    operands.push_back(constant(weights_of(p.weights, numbers, number + 2)));
  if (p.zeros == Zeros::kOne) {
    Tensor zeros(p.weights, numbers);
    for (int64_t i = 0; i < zeros.count(); ++i) zeros.set_from_int64(i, 5);
    operands.push_back(constant(std::move(zeros)));
  }
  Tensor rows = random_reals(p.x, p.rows, number + 3);
  if (p.end == End::kInfinite) rows.set_from_double(depth / 2, HUGE_VAL);
  MatMul product;
  product.transpose_b = p.transpose_b;
  auto& c = add(cases, fmt::format("ampere weights {}", number), op, std::move(operands))
                .into_second(product, input(std::move(rows)));
  Extents result = p.rows;
  result.back() = p.columns;
  if (p.end == End::kBias || p.end == End::kResidual)
    c.then(k_add, constant(random_reals(p.x, {p.columns}, number + 4)));
  if (p.end == End::kBias) c.then(k_gelu_erf);
  if (p.end == End::kResidual)
    c.then(k_mul, input(random_reals(p.x, result, number + 5)))
        .then(k_add, input(random_reals(p.x, result, number + 6)));
  if (p.end == End::kWide) c.then_cast(kFloat).tolerance(2e-3);
}

}  // namespace

Cases weight_cases() {
  constexpr Zeros kNone = Zeros::kNone, kOne = Zeros::kOne, kEach = Zeros::kEach;
  const Product products[] = {{kF16, kI4, kFloat, {1, 1024}, 256, 128, kNone, false, End::kNone},
                              {kF16, kI4, kF16, {8, 4096}, 768, 128, kNone, true, End::kBias},
                              {kBf16, kI4, kBf16, {5, 1024}, 264, 64, kNone, false, End::kResidual},
                              {kF16, kU4, kFloat, {3, 512}, 100, 32, kEach, true, End::kBias},
                              {kF16, kI4, kFloat, {2, 96}, 37, 32, kEach, false, End::kNone},
                              {kBf16, kU4, kFloat, {7, 2048}, 530, 128, kEach, false, End::kBias},
                              {kF16, kU4, kF16, {6, 1000}, 333, 0, kEach, false, End::kResidual},
                              {kBf16, kI4, kBf16, {4, 333}, 1001, 0, kNone, true, End::kNone},
                              {kF16, kI4, kFloat, {1, 77}, 3, -1, kNone, false, End::kNone},
                              {kF16, kU4, kFloat, {8, 640}, 2050, -1, kOne, true, End::kWide},
                              {kF16, kI4, kF16, {2, 3, 700}, 516, 256, kOne, false, End::kResidual},
                              {kF16, kI4, kF16, {1, 5, 4000}, 272, 128, kEach, true, End::kWide},
                              {kF16, kI8, kFloat, {8, 1024}, 320, 128, kNone, false, End::kBias},
                              {kBf16, kI8, kFloat, {3, 1025}, 210, 0, kEach, true, End::kResidual},
                              {kF16, kU8, kF16, {1, 2048}, 129, 64, kEach, false, End::kNone},
                              {kBf16, kU8, kBf16, {8, 160}, 96, 32, kEach, true, End::kBias},
                              {kF16, kI8, kFloat, {4, 14336}, 64, -1, kOne, false, End::kNone},
                              {kF16, kI4, kFloat, {8, 14336}, 128, 128, kNone, false, End::kNone},
                              {kF16, kI4, kF16, {1, 4096}, 4096, 128, kNone, false, End::kNone},
                              {kF16, kI4, kF16, {7, 2944}, 1040, 32, kEach, true, End::kBias},
                              {kBf16, kI4, kBf16, {1, 4104}, 530, 64, kNone, false, End::kNone},
                              {kF16, kI8, kF16, {2, 999}, 77, 0, kEach, true, End::kResidual},
                              {kBf16, kI4, kFloat, {6, 384}, 48, 128, kOne, false, End::kBias},
                              {kF16, kU4, kF16, {8, 4096}, 2064, 64, kEach, false, End::kNone},
                              {kF16, kI4, kF16, {3, 1024}, 96, 128, kNone, false, End::kInfinite},
                              {kBf16, kU4, kFloat, {2, 640}, 80, 32, kEach, true, End::kInfinite},
                              {kF16, kI8, kF16, {4, 520}, 48, 0, kEach, false, End::kInfinite},
                              // Rows in shared memory leave room for few weights.
                              {kF16, kI4, kF16, {8, 14340}, 64, 0, kNone, false, End::kNone},
                              // Neither steps nor tiles divide them.
                              {kF16, kI4, kF16, {3, 4100}, 1000, 128, kEach, false, End::kBias},
                              {kBf16, kU4, kBf16, {2, 1000}, 4100, 64, kEach, true, End::kResidual},
                              {kF16, kI4, kF16, {1, 11008}, 688, 128, kNone, false, End::kResidual},
                              {kF16, kU4, kFloat, {4, 5128}, 860, 32, kEach, true, End::kBias},
                              // Rows as integers: two, with zero points, infinite; many columns.
                              {kF16, kU4, kF16, {2, 2048}, 2112, 128, kEach, false, End::kBias},
                              {kF16, kI4, kF16, {2, 1024}, 272, 32, kEach, false, End::kInfinite},
                              {kBf16, kU4, kBf16, {2, 3080}, 600, 0, kOne, true, End::kResidual},
                              {kF16, kI4, kFloat, {1, 512}, 20000, 0, kNone, true, End::kNone}};
  Cases cases;
  int number = 0;
  for (const Product& p : products) add_product(cases, ++number, p);
  return cases;
}

}  // namespace tenon::test
