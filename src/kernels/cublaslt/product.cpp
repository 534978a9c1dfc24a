#include "kernels/cublaslt/product.h"

#include <algorithm>
#include <numeric>

#include "kernels/image.h"
#include "kernels/strides.h"
#include "ops/math.h"
#include "ops/nn.h"

namespace tenon::cublaslt {
namespace {

/// Strides over the `axes` leading axes of the output, 0 where the operand is repeated.
std::vector<int64_t> batch_strides(const Operand& operand, int axes) {
  std::vector<int64_t> result(axes, 0);
  const std::vector<int64_t> own = strides_of(operand);
  const int mine = operand.rank() - 2;
  for (int i = 0; i < mine; ++i)
    if (operand.extents[i] != 1) result[axes - mine + i] = own[i];
  return result;
}

/// The last two axes of an operand; `swapped` where the operator transposes them.
Result<Matrix> matrix(const Operand& operand, bool swapped, int axes) {
  const std::vector<int64_t> strides = strides_of(operand);
  const int last = operand.rank() - 1;
  Matrix m;
  m.type = operand.type;
  m.rows = operand.extents[last - 1], m.columns = operand.extents[last];
  int64_t row = strides[last - 1], column = strides[last];
  if (swapped) {
    std::swap(m.rows, m.columns);
    std::swap(row, column);
  }
  m.batch_strides = batch_strides(operand, axes);
  m.alignment = std::gcd(int64_t{16}, operand.alignment);
  // The stride of an axis of one element says nothing.
  if ((column == 1 || m.columns == 1) && (m.rows == 1 || row >= m.columns)) {
    m.stride = m.rows == 1 ? m.columns : row;
  } else if ((row == 1 || m.rows == 1) && (m.columns == 1 || column >= m.rows)) {
    m.transposed = true;
    m.stride = m.columns == 1 ? m.rows : column;
  } else {
    return unsupported("an operand whose elements lie apart");
  }
  return m;
}

Result<float> constant_number(const Problem& problem, int input) {
  const Operand& operand = problem.input(input);
  if (operand.constant == nullptr || operand.count() != 1)
    return unsupported("a factor that is no constant number");
  return static_cast<float>(operand.constant->as_double(0));
}

/// Whether the operand holds one number for each column of the output.
bool is_bias(const Operand& operand, const Operand& output) {
  const int rank = operand.rank();
  if (rank == 0 || operand.extents[rank - 1] != output.extents.back()) return false;
  if (operand.count() != output.extents.back() || operand.alignment % 16 != 0) return false;
  return operand.dense() || operand.strides[rank - 1] == 1 || operand.extents[rank - 1] == 1;
}

Status take_addend(const Problem& problem, int input, Product& p) {
  const Operand &operand = problem.input(input), &output = problem.output();
  if (operand.type != output.type)
    return unsupported("an addend of {} to {}", name_of(operand.type), name_of(output.type));
  if (is_bias(operand, output) && p.bias_input < 0 && p.m != 1) {
    p.bias_input = input;
    return {};
  }
  if (p.c_input < 0 && operand.rank() >= 2 && operand.extents.back() == p.n &&
      operand.extents[operand.rank() - 2] == p.m) {
    TENON_ASSIGN(p.c, matrix(operand, false, output.rank() - 2));
    if (p.c.transposed) return unsupported("an addend in another layout");
    p.c_input = input;
    return {};
  }
  if (is_bias(operand, output) && p.bias_input < 0) {
    p.bias_input = input;
    return {};
  }
  return unsupported("an addend that is neither a bias nor of the result's shape");
}

/// The extents of an operand, aligned at the end with those of an output of `rank` axes.
Extents aligned_extents(const Operand& operand, int rank) {
  Extents extents(static_cast<size_t>(std::max(rank - operand.rank(), 0)), 1);
  extents.insert(extents.end(), operand.extents.begin(), operand.extents.end());
  return extents;
}

Status take_image_addend(const Problem& problem, int input, Product& p) {
  const Operand &operand = problem.input(input), &output = problem.output();
  if (operand.type != output.type)
    return unsupported("an addend of {} to {}", name_of(operand.type), name_of(output.type));
  const Extents extents = aligned_extents(operand, output.rank());
  if (extents == output.extents && p.c_input < 0) {
    const auto pixel = pixel_stride(operand);
    if (!pixel) return unsupported("an addend that is not channels-last");
    p.c = p.d;
    p.c.stride = *pixel;
    p.c.alignment = std::gcd(int64_t{16}, operand.alignment);
    p.c_input = input;
    return {};
  }
  const bool per_channel =
      extents[1] == output.extents[1] && operand.count() == extents[1] && operand.dense();
  if (!per_channel || p.bias_input >= 0 || operand.alignment % 16 != 0)
    return unsupported("an addend that is neither a bias nor of the result's shape");
  p.bias_input = input;
  return {};
}

using TakeAddend = Status (*)(const Problem&, int, Product&);

Status take_step(const Problem& problem, const RegionStep& step, TakeAddend add, Product& p) {
  using F = PointwiseFunction;
  if (p.activation != Activation::kNone)
    return unsupported("{} behind an activation", pointwise_info(step.function).name);
  const bool fresh = p.c_input < 0 && p.bias_input < 0;
  switch (step.function) {
    case F::k_add: return add(problem, step.operand, p);
    case F::k_relu: p.activation = Activation::kRelu; return {};
    case F::k_gelu_tanh: p.activation = Activation::kGeluTanh; return {};
    case F::k_affine:
      if (!fresh || step.beta != 0) return unsupported("a scale behind a sum");
      p.alpha *= static_cast<float>(step.alpha);
      return {};
    case F::k_mul:
    case F::k_div: {
      if (!fresh) return unsupported("a product behind a sum");
      TENON_ASSIGN(const float factor, constant_number(problem, step.operand));
      if (step.function == F::k_div && (step.value_is_second || factor == 0))
        return unsupported("a quotient by the result");
      p.alpha *= step.function == F::k_mul ? factor : 1 / factor;
      return {};
    }
    default: return unsupported("{} in the epilogue", pointwise_info(step.function).name);
  }
}

/// As many as the library's epilogue takes.
void take_steps(const Problem& problem, const AnchoredRegion& region, TakeAddend add, Product& p) {
  for (const RegionStep& step : region.steps) {
    // Its value is not there to be read again.
    if (step.earlier >= 0 || reaches_before(region, p.taken_steps + 1)) return;
    if (!take_step(problem, step, add, p).ok()) return;
    ++p.taken_steps;
  }
}

/// One stride serves for all batch axes and rows of the matrix.
bool rows_run_through(const Matrix& m, const std::vector<int64_t>& batch) {
  if (m.transposed && m.rows != 1) return false;
  int64_t expected = m.stride * m.rows;
  for (size_t i = batch.size(); i-- > 0;) {
    if (batch[i] != 1 && m.batch_strides[i] != expected) return false;
    expected *= batch[i];
  }
  return true;
}

/// A matrix of one row has no stride of its own: it takes that of the batch.
void step_single_rows(Matrix& m, const std::vector<int64_t>& batch) {
  if (m.rows != 1 || m.transposed) return;
  for (size_t i = batch.size(); i-- > 0;) {
    if (batch[i] == 1) continue;
    if (i < m.batch_strides.size() && m.batch_strides[i] >= m.columns)
      m.stride = m.batch_strides[i];
    return;
  }
}

/// A product whose B does not change over the batch is one tall product.
void merge_batch_into_rows(Product& p) {
  const int64_t count = p.batch_count();
  const auto is_zero = [](int64_t stride) { return stride == 0; };
  if (count == 1 || !std::all_of(p.b.batch_strides.begin(), p.b.batch_strides.end(), is_zero))
    return;
  for (Matrix* matrix : {&p.a, &p.c, &p.d}) step_single_rows(*matrix, p.batch);
  if (!rows_run_through(p.a, p.batch) || !rows_run_through(p.d, p.batch)) return;
  if (p.c_input >= 0 && !rows_run_through(p.c, p.batch)) return;
  p.m *= count;
  p.a.rows = p.d.rows = p.m;
  if (p.c_input >= 0) p.c.rows = p.m;
  p.batch.clear();
  for (Matrix* matrix : {&p.a, &p.b, &p.c, &p.d}) matrix->batch_strides.clear();
}

/// Drops axes of one element, and joins neighbours that every matrix walks through with one stride.
void join_batch_axes(Product& p) {
  Matrix* matrices[] = {&p.a, &p.b, &p.c, &p.d};
  if (p.c_input < 0) p.c.batch_strides.assign(p.batch.size(), 0);
  for (size_t i = p.batch.size(); i-- > 0;) {
    const bool last = i + 1 == p.batch.size();
    const bool joins = !last && std::all_of(matrices, matrices + 4, [&](const Matrix* m) {
      return m->batch_strides[i] == m->batch_strides[i + 1] * p.batch[i + 1];
    });
    if (p.batch[i] == 1) {
      p.batch.erase(p.batch.begin() + static_cast<int64_t>(i));
      for (Matrix* m : matrices)
        m->batch_strides.erase(m->batch_strides.begin() + static_cast<int64_t>(i));
    } else if (joins) {
      p.batch[i] *= p.batch[i + 1];
      p.batch.erase(p.batch.begin() + static_cast<int64_t>(i) + 1);
      for (Matrix* m : matrices) {
        m->batch_strides[i] = m->batch_strides[i + 1];
        m->batch_strides.erase(m->batch_strides.begin() + static_cast<int64_t>(i) + 1);
      }
    }
  }
}

/// Each index of the outer batch axes is a launch with addresses of its own.
void align_outer_axes(Product& p) {
  for (Matrix* m : {&p.a, &p.b, &p.c, &p.d})
    for (size_t axis = 0; axis + 1 < p.batch.size(); ++axis)
      m->alignment = std::gcd(m->alignment, m->batch_strides[axis] * byte_size(m->type));
}

Status check_types(const Problem& problem, const Product& p) {
  const DataType type = problem.input(p.a_input).type;
  if (type != DataType::kFloat32 && type != DataType::kFloat16 && type != DataType::kBFloat16)
    return unsupported("a product of {}", name_of(type));
  if (problem.input(p.b_input).type != type)
    return unsupported("operands of {} and {}", name_of(type),
                       name_of(problem.input(p.b_input).type));
  if (problem.output().type != type && problem.output().type != DataType::kFloat32)
    return unsupported("a result of {} from {}", name_of(problem.output().type), name_of(type));
  return {};
}

}  // namespace

int64_t Product::batch_count() const {
  int64_t count = 1;
  for (const int64_t extent : batch) count *= extent;
  return count;
}

namespace {

bool all(const std::vector<int64_t>& values, int64_t wanted) {
  return std::all_of(values.begin(), values.end(),
                     [wanted](int64_t value) { return value == wanted; });
}

Result<Matrix> pixels(const Operand& image) {
  const auto pixel = pixel_stride(image);
  if (!pixel) return unsupported("an image that is not channels-last");
  Matrix m;
  m.type = image.type;
  m.columns = image.extents[1];
  m.rows = image.count() / std::max<int64_t>(m.columns, 1);
  m.stride = *pixel;
  m.alignment = std::gcd(int64_t{16}, image.alignment);
  return m;
}

/// A convolution that looks at one pixel at a time is a product of pixels and weights.
Result<Product> describe_convolution(const Problem& problem, const AnchoredRegion& region,
                                     const Conv& conv) {
  Product p;
  p.a_input = region.anchor_inputs[0], p.b_input = region.anchor_inputs[1];
  const Operand& weights = problem.input(p.b_input);
  const Extents& w = weights.extents;
  if (conv.groups != 1 || !all({w.begin() + 2, w.end()}, 1) || !all(conv.strides, 1) ||
      !all(conv.pads_begin, 0) || !all(conv.pads_end, 0))
    return unsupported("a convolution of more than single pixels");
  TENON_TRY(check_types(problem, p));
  if (!weights.dense()) return unsupported("weights with gaps");
  TENON_ASSIGN(p.a, pixels(problem.input(p.a_input)));
  TENON_ASSIGN(p.d, pixels(problem.output()));
  p.m = p.d.rows, p.n = w[0], p.k = w[1];
  if (p.m == 0) return unsupported("no elements");
  p.b.type = weights.type;
  p.b.rows = p.k, p.b.columns = p.n;
  p.b.stride = p.k;
  p.b.transposed = true;
  p.allow_tf32 = problem.numerics.tf32;
  p.constant_b = weights.constant;
  if (region.anchor_inputs.size() > 2 && region.anchor_inputs[2] >= 0) {
    p.bias_input = region.anchor_inputs[2];
    const Operand& bias = problem.input(p.bias_input);
    if (!bias.dense() || bias.alignment % 16 != 0 || bias.type != problem.output().type)
      return unsupported("a bias with gaps or of another type");
  }
  take_steps(problem, region, take_image_addend, p);
  if (p.bias_input >= 0) p.constant_bias = problem.input(p.bias_input).constant;
  return p;
}

}  // namespace

Result<Product> describe_product(const Problem& problem) {
  TENON_ASSIGN(AnchoredRegion region, anchored_region(problem, {.branches = true}));
  if (const auto* conv = region.anchor.as<Conv>())
    return describe_convolution(problem, region, *conv);
  const auto* op = region.anchor.as<MatMul>();
  if (op == nullptr) return unsupported("neither a matmul nor a convolution");
  Product p;
  p.a_input = region.anchor_inputs[0], p.b_input = region.anchor_inputs[1];
  const Operand &a = problem.input(p.a_input), &b = problem.input(p.b_input);
  const Operand& d = problem.output();
  if (a.rank() < 2 || b.rank() < 2) return unsupported("an operand is a vector");
  TENON_TRY(check_types(problem, p));
  const int axes = d.rank() - 2;
  p.batch.assign(d.extents.begin(), d.extents.begin() + axes);
  TENON_ASSIGN(p.a, matrix(a, op->transpose_a, axes));
  TENON_ASSIGN(p.b, matrix(b, op->transpose_b, axes));
  TENON_ASSIGN(p.d, matrix(d, false, axes));
  p.m = p.d.rows, p.n = p.d.columns, p.k = p.a.columns;
  if (p.m == 0 || p.n == 0 || p.k == 0 || p.batch_count() == 0) return unsupported("no elements");
  if (p.d.transposed) return unsupported("columns of the result lie apart");
  p.allow_tf32 = problem.numerics.tf32;
  take_steps(problem, region, take_addend, p);
  merge_batch_into_rows(p);
  join_batch_axes(p);
  align_outer_axes(p);
  if (b.constant != nullptr && b.dense() && p.batch.empty()) p.constant_b = b.constant;
  if (p.bias_input >= 0) p.constant_bias = problem.input(p.bias_input).constant;
  return p;
}

}  // namespace tenon::cublaslt
