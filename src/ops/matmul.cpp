#include <fmt/format.h>

#include "ops/extent_rules.h"
#include "ops/gemm_reference.h"
#include "ops/math.h"
#include "ops/reals.h"
#include "ops/table.h"

namespace tenon {
namespace {

DataType result_type(DataType type) {
  if (!is_integer(type)) return type;
  return byte_size(type) == 8 ? type : DataType::kInt32;
}

/// Shapes of the operands as matrices: transposed as the attributes say, vectors with an axis of 1.
struct Matrices {
  Shape a, b;
  bool a_is_vector, b_is_vector;
};

Matrices as_matrices(const MatMul& op, Shape a, Shape b) {
  Matrices result{std::move(a), std::move(b), false, false};
  result.a_is_vector = result.a.size() == 1;
  result.b_is_vector = result.b.size() == 1;
  if (result.a_is_vector)
    result.a.insert(result.a.begin(), 1);
  else if (op.transpose_a)
    std::swap(result.a[result.a.size() - 1], result.a[result.a.size() - 2]);
  if (result.b_is_vector)
    result.b.push_back(1);
  else if (op.transpose_b)
    std::swap(result.b[result.b.size() - 1], result.b[result.b.size() - 2]);
  return result;
}

/// Batch extents of the product; errors are for the caller to attribute.
template <class Join> Result<Shape> batch_of(const Matrices& operands, Join join) {
  if (operands.a.size() < 2 || operands.b.size() < 2)
    return user_error("operands of at least one axis are expected");
  const Dim& inner_a = operands.a.back();
  const Dim& inner_b = operands.b[operands.b.size() - 2];
  if (surely_differ(inner_a, inner_b))
    return user_error("the inner extents {} and {} differ", inner_a.to_string(),
                      inner_b.to_string());
  return join(Shape(operands.a.begin(), operands.a.end() - 2),
              Shape(operands.b.begin(), operands.b.end() - 2));
}

Shape product_shape(const Matrices& operands, Shape batch) {
  if (!operands.a_is_vector) batch.push_back(operands.a[operands.a.size() - 2]);
  if (!operands.b_is_vector) batch.push_back(operands.b.back());
  return batch;
}

/// Index of a matrix in an operand's batch for each matrix of the product's batch.
std::vector<int64_t> batch_indices(const Shape& matrix, const Extents& batch) {
  const int64_t count = element_count(batch);
  std::vector<int64_t> indices(count, 0);
  const size_t rank = matrix.size() - 2;
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i, stride = 1;
    for (size_t axis = 0; axis < batch.size(); ++axis) {  // From the last on.
      const int64_t extent = batch[batch.size() - 1 - axis];
      const int64_t place = rest % extent;
      rest /= extent;
      if (axis >= rank) continue;
      const int64_t own = matrix[rank - 1 - axis].constant();
      indices[i] += own == 1 ? 0 : place * stride;
      stride *= own;
    }
  }
  return indices;
}

template <class T>
void multiply(const MatMul& op, const Tensor& a, const Tensor& b, const Matrices& shapes,
              const Extents& batch, Tensor& out) {
  const Values<T> x(a), y(b);
  const int64_t m = shapes.a[shapes.a.size() - 2].constant(), k = shapes.a.back().constant();
  const int64_t n = shapes.b.back().constant();
  const std::vector<int64_t> from_a = batch_indices(shapes.a, batch);
  const std::vector<int64_t> from_b = batch_indices(shapes.b, batch);
  const bool swap_a = op.transpose_a && !shapes.a_is_vector;
  const bool swap_b = op.transpose_b && !shapes.b_is_vector;
  std::vector<T> result(out.count());
  for (size_t i = 0; i < from_a.size(); ++i) {
    const MatrixView<T> left{x.data() + from_a[i] * m * k, swap_a ? 1 : k, swap_a ? m : 1};
    const MatrixView<T> right{y.data() + from_b[i] * k * n, swap_b ? 1 : n, swap_b ? k : 1};
    multiply_matrices<T>(m, n, k, left, right, result.data() + static_cast<int64_t>(i) * m * n);
  }
  store_values(std::span<const T>(result), out);
}

}  // namespace

Status infer(const MatMul& op, InferContext& context) {
  const DataType type = context.input(0).type;
  const bool both_integer = is_integer(type) && is_integer(context.input(1).type);
  if (type == DataType::kBool || (type != context.input(1).type && !both_integer))
    return context.fail("two numeric operands of one type are expected");
  if (context.rank(0) == 0 || context.rank(1) == 0)
    return context.fail("operands of at least one axis are expected");
  const Matrices operands = as_matrices(op, context.shape(0), context.shape(1));
  auto batch = batch_of(
      operands, [&](const Shape& a, const Shape& b) { return joined_shape(a, b, context); });
  if (!batch.ok()) return context.fail(batch.error().message);
  return context.finish(result_type(type), product_shape(operands, std::move(*batch)));
}

Status evaluate(const MatMul& op, EvalContext& context) {
  const Tensor& a = context.input(0);
  const Tensor& b = context.input(1);
  if (a.rank() == 0 || b.rank() == 0) return context.fail("operands of an axis are expected");
  const Matrices shapes = as_matrices(op, to_shape(a.extents()), to_shape(b.extents()));
  auto batch = batch_of(shapes, [](const Shape& a, const Shape& b) { return broadcast(a, b); });
  if (!batch.ok()) return context.fail(batch.error().message);
  Tensor& out =
      context.make_output(0, result_type(a.type()), constants(product_shape(shapes, *batch)));
  if (out.count() == 0) return {};
  const Extents batch_extents = constants(*batch);
  if (a.type() == DataType::kFloat64)
    multiply<double>(op, a, b, shapes, batch_extents, out);
  else if (is_real(a.type()))
    multiply<float>(op, a, b, shapes, batch_extents, out);
  else
    multiply<uint64_t>(op, a, b, shapes, batch_extents, out);
  return {};
}

}  // namespace tenon
