// Formulas of sums over products, and of tensors put together from others.
#include <algorithm>
#include <map>

#include "kernels/generic/formulas.h"
#include "ops/einsum.h"
#include "ops/math.h"
#include "ops/movement.h"
#include "ops/nn_window.h"

namespace tenon::formulas {
namespace {

/// Stride of a label in an operand: the sum over its axes, 0 where it is absent or broadcasts.
int64_t stride_of(int label, const einsum::Labels& labels, const Operand& operand) {
  const std::vector<int64_t> strides = strides_of(operand);
  int64_t total = 0;
  for (size_t axis = 0; axis < labels.size(); ++axis)
    if (labels[axis] == label && operand.extents[axis] != 1) total += strides[axis];
  return total;
}

}  // namespace

Status gated_unit(const Problem& problem, const GatedUnit& op, Formula& f) {
  if (!is_real(problem.output().type))
    return unsupported("the type {}", name_of(problem.output().type));
  f.constants += fmt::format("#define GATE {}\n", pointwise_info(op.function).formula);
  f.real("kAlpha", op.alpha);
  f.real("kBeta", op.beta);
  return {};
}

Status einsum(const Problem& problem, const Einsum& op, Formula& f) {
  std::vector<Shape> shapes;
  for (const Operand& operand : problem.inputs) shapes.push_back(to_shape(operand.extents));
  TENON_ASSIGN(const einsum::Equation equation, einsum::read_equation(op.equation, shapes));
  std::map<int, int64_t> sizes;
  for (size_t i = 0; i < equation.operands.size(); ++i)
    for (size_t axis = 0; axis < equation.operands[i].size(); ++axis) {
      int64_t& size = sizes.try_emplace(equation.operands[i][axis], 1).first->second;
      size = size == 1 ? problem.inputs[i].extents[axis] : size;
    }
  std::vector<int> summed;
  int64_t count = 1;
  for (const auto& [label, size] : sizes) {
    if (std::find(equation.result.begin(), equation.result.end(), label) != equation.result.end())
      continue;
    summed.push_back(label);
    count *= size;
  }
  std::string body, product = "Accumulator(1)";
  for (size_t n = summed.size(); n-- > 0;)
    body += fmt::format("  const i64 s{} = s % {}ll;\n  s /= {}ll;\n", n, sizes[summed[n]],
                        sizes[summed[n]]);
  for (size_t i = 0; i < problem.inputs.size(); ++i) {
    std::string place = "0";
    for (size_t axis = 0; axis < equation.result.size(); ++axis)
      place +=
          fmt::format(" + c[{}] * {}ll", axis,
                      stride_of(equation.result[axis], equation.operands[i], problem.inputs[i]));
    for (size_t n = 0; n < summed.size(); ++n)
      place += fmt::format(" + s{} * {}ll", n,
                           stride_of(summed[n], equation.operands[i], problem.inputs[i]));
    product += fmt::format(" * Accumulator(widen(o.x{}[{}]))", i, place);
  }
  f.number("kSummed", count);
  f.constants += fmt::format(
      "__device__ inline Accumulator product_at([[maybe_unused]] const i64* c, [[maybe_unused]] "
      "i64 s, const "
      "Operands& o) {{\n{}  return {};\n}}\n",
      body, product);
  return {};
}

namespace {

/// The offset of an operand's matrix and row (or column) for an element of the result. `axis`: the
/// result's axis that runs along the operand's other axis; -1 for a vector.
std::string place_code(std::string_view name, const Operand& operand, int result_rank,
                       int batch_axes, int axis, int64_t stride) {
  std::string place = "0";
  const std::vector<int64_t> strides = strides_of(operand);
  const int own = std::max(operand.rank() - 2, 0), skipped = batch_axes - own;
  for (int i = 0; i < own; ++i)
    if (operand.extents[i] != 1) place += fmt::format(" + c[{}] * {}ll", skipped + i, strides[i]);
  if (axis >= 0) place += fmt::format(" + c[{}] * {}ll", axis, stride);
  static_cast<void>(result_rank);
  return fmt::format(
      "__device__ inline i64 {}([[maybe_unused]] const i64* c) {{\n  return {};\n}}\n", name,
      place);
}

}  // namespace

Status matmul(const Problem& problem, const MatMul& op, Formula& f) {
  const Operand &a = problem.input(0), &b = problem.input(1), &y = problem.output();
  const int rank = y.rank();
  if (a.rank() == 0 || b.rank() == 0) return unsupported("scalars");
  const bool row = a.rank() > 1, column = b.rank() > 1;
  const int batch = rank - (row ? 1 : 0) - (column ? 1 : 0);
  const std::vector<int64_t> sa = strides_of(a), sb = strides_of(b);
  const int ra = a.rank(), rb = b.rank();
  const bool ta = op.transpose_a && row, tb = op.transpose_b && column;
  f.number("kDepth", a.extents[static_cast<size_t>(ta ? ra - 2 : ra - 1)]);
  f.number("kStepA", sa[static_cast<size_t>(ta ? ra - 2 : ra - 1)]);
  f.number("kStepB", sb[static_cast<size_t>(!column || tb ? rb - 1 : rb - 2)]);
  f.constants += place_code("place_a", a, rank, batch, row ? batch : -1,
                            row ? sa[static_cast<size_t>(ta ? ra - 1 : ra - 2)] : 0);
  f.constants += place_code("place_b", b, rank, batch, column ? rank - 1 : -1,
                            column ? sb[static_cast<size_t>(tb ? rb - 2 : rb - 1)] : 0);
  return {};
}

Status col2im(const Problem& problem, const Col2Im& op, Formula& f) {
  const Operand& y = problem.output();
  const Tensor* block = problem.input(2).constant;
  if (block == nullptr || !block->defined()) return unsupported("the block's extents are computed");
  std::vector<int64_t> blocks, steps, dilations, begins, counts;
  for (int i = 0; i + 2 < y.rank(); ++i) {
    const auto axis = static_cast<size_t>(i);
    blocks.push_back(block->as_int64(i));
    steps.push_back(axis_or(op.strides, axis, 1));
    dilations.push_back(axis_or(op.dilations, axis, 1));
    begins.push_back(axis_or(op.pads_begin, axis, 0));
    const int64_t room = y.extents[axis + 2] + begins[axis] + axis_or(op.pads_end, axis, 0) -
                         dilations[axis] * (blocks[axis] - 1) - 1;
    counts.push_back(room / steps[axis] + 1);
  }
  f.list("block", blocks);
  f.list("step", steps);
  f.list("dilation", dilations);
  f.list("begin", begins);
  f.list("count", counts);
  return {};
}

Status tensor_scatter(const Problem& problem, const TensorScatter& op, Formula& f) {
  f.number("kAxis", axis_of(op.axis, problem.input(0).rank()));
  f.flag("kCircular", op.circular);
  f.flag("kHasStarts", problem.has_input(2));
  return {};
}

}  // namespace tenon::formulas
