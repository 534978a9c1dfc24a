#include "kernels/cudnn/matmul.h"

#include <algorithm>
#include <numeric>

#include "kernels/cudnn/steps.h"
#include "kernels/strides.h"
#include "ops/math.h"

namespace tenon::cudnn {
namespace {

/// Strides of one tensor over the result's axes before the last, and over its own last two.
struct Lines {
  std::vector<int64_t> outer;
  int64_t alignment = 16;
};

/// Strides over `count` axes of the result, of which the operand's first `own` are the last ones.
std::vector<int64_t> outer_strides(const Operand& operand, int own, int count) {
  const std::vector<int64_t> strides = strides_of(operand);
  std::vector<int64_t> result(static_cast<size_t>(count), 0);
  for (int i = 0; i < own; ++i)
    if (operand.extents[i] != 1) result[count - own + i] = strides[i];
  return result;
}

/// Joins neighbouring axes that every tensor walks through with one stride, and drops axes of one
/// element; the first `count` axes only.
void join_axes(std::vector<int64_t>& extents, std::vector<Lines>& tensors, size_t count) {
  const auto erase = [&](size_t axis) {
    extents.erase(extents.begin() + static_cast<int64_t>(axis));
    for (Lines& t : tensors) t.outer.erase(t.outer.begin() + static_cast<int64_t>(axis));
  };
  for (size_t i = count; i-- > 0;) {
    if (extents[i] == 1) {
      erase(i);
      --count;
      continue;
    }
    if (i + 1 >= count) continue;
    const bool joins = std::all_of(tensors.begin(), tensors.end(), [&](const Lines& t) {
      return t.outer[i] == t.outer[i + 1] * extents[i + 1];
    });
    if (!joins) continue;
    extents[i] *= extents[i + 1];
    for (Lines& t : tensors) t.outer[i] = t.outer[i + 1];
    erase(i + 1);
    --count;
  }
}

/// Axes of the description: the result's axes before the last two, then its rows.
struct Frame {
  std::vector<int64_t> extents;  ///< Batch axes, then rows.
  std::vector<Lines> tensors;    ///< a, b, d, then the operands of the result's shape.
  int64_t columns = 0;
};

enum Tensor3 { kA, kB, kD, kFirstOperand };

/// [batch..., rows, columns] of a tensor; axes where it does not move have one element.
Shape shape_of(const Frame& frame, size_t tensor, int64_t rows, int64_t columns, int64_t row_stride,
               int64_t column_stride) {
  const Lines& lines = frame.tensors[tensor];
  // A single row has no stride of its own.
  if (rows == 1 && column_stride == 1) row_stride = (columns + 7) / 8 * 8;
  Shape shape;
  shape.alignment = lines.alignment;
  for (size_t i = 0; i + 1 < frame.extents.size(); ++i) {
    shape.extents.push_back(lines.outer[i] == 0 ? 1 : frame.extents[i]);
    shape.strides.push_back(lines.outer[i]);
  }
  if (shape.extents.empty()) {
    shape.extents.push_back(1);
    shape.strides.push_back(0);
  }
  shape.extents.insert(shape.extents.end(), {rows, columns});
  shape.strides.insert(shape.strides.end(), {row_stride, column_stride});
  // Strides of axes of one element: as in a dense tensor.
  for (size_t i = shape.extents.size() - 2; i-- > 0;)
    if (shape.extents[i] == 1)
      shape.strides[i] = std::max(shape.strides[i + 1] * shape.extents[i + 1],
                                  shape.strides[i + 2] * shape.extents[i + 2]);
  return shape;
}

Status check_layout(const Shape& shape, int64_t unit) {
  const size_t last = shape.extents.size() - 1;
  const int64_t row = shape.strides[last - 1], column = shape.strides[last];
  if (row != 1 && column != 1) return unsupported("an operand whose elements lie apart");
  if ((row == 1 ? column : row) % unit != 0 || shape.alignment % 16 != 0)
    return unsupported("rows that start at no multiple of 16 bytes");
  return {};
}

bool is_full(const Operand& operand, const Operand& result) {
  return operand.extents == result.extents;
}

/// An operand of one number a column, or of one number.
Result<Shape> repeated_shape(const Operand& operand, int64_t columns, size_t rank) {
  const bool one = operand.count() == 1;
  if (!operand.dense() ||
      (!one && (operand.count() != columns || operand.extents.back() != columns)))
    return unsupported("an operand that is neither a bias nor of the result's shape");
  Shape shape;
  shape.extents.assign(rank, 1);
  shape.extents.back() = operand.count();
  shape.strides.assign(rank, operand.count());
  shape.strides.back() = 1;
  shape.alignment = std::gcd(int64_t{16}, operand.alignment);
  return shape;
}

Result<Frame> frame_of(const Problem& problem, const AnchoredRegion& region, const MatMul& op) {
  const Operand &a = problem.input(region.anchor_inputs[0]),
                &b = problem.input(region.anchor_inputs[1]), &d = problem.output();
  if (a.rank() < 2 || b.rank() < 2) return unsupported("an operand is a vector");
  const int axes = d.rank() - 2;
  Frame frame;
  frame.columns = d.extents.back();
  frame.extents.assign(d.extents.begin(), d.extents.end() - 1);
  const auto add = [&](const Operand& operand, int own, int64_t row_stride) {
    Lines lines{outer_strides(operand, own, axes), std::gcd(int64_t{16}, operand.alignment)};
    lines.outer.push_back(row_stride);
    frame.tensors.push_back(std::move(lines));
  };
  const auto stride = [](const Operand& operand, int from_end) {
    return strides_of(operand)[static_cast<size_t>(operand.rank() - from_end)];
  };
  add(a, a.rank() - 2, stride(a, op.transpose_a ? 1 : 2));
  add(b, b.rank() - 2, 0);
  add(d, axes, stride(d, 2));
  for (const RegionStep& step : region.steps) {
    if (step.operand < 0 || !is_full(problem.input(step.operand), d)) continue;
    const Operand& operand = problem.input(step.operand);
    if (stride(operand, 1) != 1) return unsupported("an operand in another layout");
    add(operand, axes, stride(operand, 2));
  }
  const bool shared = std::all_of(frame.tensors[kB].outer.begin(), frame.tensors[kB].outer.end(),
                                  [](int64_t stride_of_b) { return stride_of_b == 0; });
  // Where B is the same for the whole batch, rows are one more axis to join.
  join_axes(frame.extents, frame.tensors, frame.extents.size() - (shared ? 0 : 1));
  if (frame.extents.empty()) {
    frame.extents.push_back(1);
    for (Lines& lines : frame.tensors) lines.outer.push_back(frame.columns);
  }
  if (frame.extents.size() > 3) return unsupported("batch axes without a common stride");
  return frame;
}

Status check_operands(const Problem& problem, const AnchoredRegion& region) {
  const DataType type = problem.input(region.anchor_inputs[0]).type;
  TENON_TRY(data_type(type).ok() ? Status{} : Status(data_type(type).error()));
  if (problem.input(region.anchor_inputs[1]).type != type || problem.output().type != type)
    return unsupported("operands of {} and {}, a result of {}", name_of(type),
                       name_of(problem.input(region.anchor_inputs[1]).type),
                       name_of(problem.output().type));
  if (problem.output().count() == 0) return unsupported("no elements");
  return {};
}

}  // namespace

Result<MatrixProduct> describe_matrix_product(const Problem& problem) {
  TENON_ASSIGN(AnchoredRegion region, anchored_region(problem));
  const auto* op = region.anchor.as<MatMul>();
  if (op == nullptr) return unsupported("not a matmul");
  TENON_TRY(check_operands(problem, region));
  TENON_ASSIGN(const Frame frame, frame_of(problem, region, *op));
  const Operand &a = problem.input(region.anchor_inputs[0]),
                &b = problem.input(region.anchor_inputs[1]), &d = problem.output();
  MatrixProduct p;
  p.type = a.type;
  p.allow_tf32 = problem.numerics.tf32;
  p.a_input = region.anchor_inputs[0], p.b_input = region.anchor_inputs[1];
  const auto sa = strides_of(a), sb = strides_of(b);
  const size_t ka = sa.size() - (op->transpose_a ? 2 : 1);
  const size_t kb = sb.size() - (op->transpose_b ? 1 : 2);
  const size_t nb = sb.size() - (op->transpose_b ? 2 : 1);
  const int64_t rows = frame.extents.back(), inner = a.extents[ka];
  p.a = shape_of(frame, kA, rows, inner, frame.tensors[kA].outer.back(), sa[ka]);
  p.b = shape_of(frame, kB, inner, frame.columns, sb[kb], sb[nb]);
  p.d = shape_of(frame, kD, rows, frame.columns, frame.tensors[kD].outer.back(),
                 strides_of(d).back());
  const int64_t unit = 16 / byte_size(p.type);
  for (const Shape* shape : {&p.a, &p.b, &p.d}) TENON_TRY(check_layout(*shape, unit));
  size_t full = kFirstOperand;
  for (const RegionStep& step : region.steps) {
    if (nodes_of(step) == 0)
      return unsupported("{} in the epilogue", pointwise_info(step.function).name);
    Step described{step, {}, DataType::kFloat32};
    if (step.operand >= 0) {
      const Operand& operand = problem.input(step.operand);
      described.type = operand.type;
      TENON_TRY(data_type(operand.type).ok() ? Status{} : Status(data_type(operand.type).error()));
      if (is_full(operand, d)) {
        described.operand =
            shape_of(frame, full, rows, frame.columns, frame.tensors[full].outer.back(), 1);
        ++full;
      } else {
        TENON_ASSIGN(described.operand, repeated_shape(operand, frame.columns, p.d.extents.size()));
      }
    }
    p.steps.push_back(std::move(described));
  }
  return p;
}

Result<MatrixProductGraph> build_graph(const Api& api, cudnnHandle_t handle,
                                       const MatrixProduct& p) {
  MatrixProductGraph result;
  result.graph = Graph(api);
  Graph& graph = result.graph;
  TENON_ASSIGN(const cudnnDataType_t type, data_type(p.type));
  result.a = p.a.in(graph, type);
  result.b = p.b.in(graph, type);
  result.d = p.d.in(graph, type);
  Running running(graph, p.d.extents, packed_strides(p.d.extents), result.d);
  for (const Step& step : p.steps) running.expect(nodes_of(step.step));
  graph.matmul(result.a, result.b, running.next());
  TENON_TRY(append_steps(running, graph, p.steps, result.operands));
  TENON_TRY(graph.finish(handle));
  return result;
}

}  // namespace tenon::cudnn
