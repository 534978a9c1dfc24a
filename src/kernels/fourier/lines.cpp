#include "kernels/fourier/lines.h"

#include <array>
#include <span>

#include "kernels/known_number.h"
#include "kernels/region.h"
#include "kernels/strides.h"
#include "ops/ops.h"

namespace tenon {
namespace {

void add_parts(FourierLines& t, const Operand& x, const Operand& y) {
  const std::vector<int64_t> in = strides_of(x), out = strides_of(y);
  t.in_parts = x.extents.back();
  t.in_part = in.back();
  t.out_parts = y.extents.back();
  t.out_part = out.back();
}

/// `inputs`: the problem's, for x, length and axis; -1: absent.
Result<FourierLines> lines_of(const Problem& problem, const Dft& op,
                              const std::array<int, 3>& inputs = {0, 1, 2}) {
  const Operand &x = problem.input(inputs[0]), &y = problem.output();
  TENON_ASSIGN(const int64_t wanted, known_number(problem, inputs[2], -2));
  const int axis = axis_of(wanted, x.rank());
  FourierLines t;
  t.source = inputs[0];
  t.axis = axis;
  t.inverse = op.inverse;
  t.mirror = op.onesided && op.inverse;
  t.results = t.length = y.extents[axis];
  if (op.onesided && !op.inverse) {
    // The result's extent stands for two lengths.
    TENON_ASSIGN(t.length, known_number(problem, inputs[1], x.extents[axis]));
  }
  const std::vector<int64_t> in = strides_of(x), out = strides_of(y);
  t.given = x.extents[axis];
  t.in_step = in[axis];
  t.out_step = out[axis];
  for (int i = 0; i + 1 < x.rank(); ++i)
    if (i != axis) t.axes.push_back({x.extents[i], in[i], out[i]});
  add_parts(t, x, y);
  return t;
}

Result<FourierLines> lines_of(const Problem& problem, const Stft&) {
  const Operand &x = problem.input(0), &y = problem.output();
  TENON_ASSIGN(const int64_t step, known_number(problem, 1, 1));
  FourierLines t;
  t.axis = -1;
  if (problem.has_input(2)) {
    t.window = 2;
    t.length = problem.input(2).count();
  } else {
    TENON_ASSIGN(t.length, known_number(problem, 3, 0));
  }
  const std::vector<int64_t> in = strides_of(x), out = strides_of(y);
  t.given = t.length;
  t.results = y.extents[2];
  t.in_step = in[1];
  t.out_step = out[2];
  t.axes = {{y.extents[0], in[0], out[0]}, {y.extents[1], in[1] * step, out[1]}};
  add_parts(t, x, y);
  return t;
}

/// A slice of the first of two parts.
bool takes_first_part(const Node& node, const Problem& problem) {
  if (!node.is<Slice>() || problem.output().extents.back() != 1) return false;
  const int64_t last = problem.output().rank() - 1;
  const auto start = known_number(problem, input_number(node.input(1)), -1);
  const auto axis = known_number(problem, input_number(node.input(3)), -2);
  return start.ok() && *start == 0 && axis.ok() && (*axis == last || *axis == -1);
}

/// A transform in f32 that may have a cast in front, and a cast and the choice of a part behind.
Result<FourierLines> lines_of_region(const Problem& problem) {
  const Graph& body = *problem.operation.bodies()[0];
  std::span<const std::unique_ptr<Node>> nodes = body.nodes();
  const Value* x = nodes[0]->input(0);
  if (nodes[0]->is<Cast>()) nodes = nodes.subspan(1);
  if (nodes.empty() || !nodes[0]->is<Dft>()) return unsupported("no transform");
  const Node& transform = *nodes[0];
  const auto& op = *transform.as<Dft>();
  if (transform.output()->type.type != DataType::kFloat32 || op.onesided)
    return unsupported("a region of a transform in {}", name_of(transform.output()->type.type));
  nodes = nodes.subspan(1);
  if (!nodes.empty() && nodes[0]->is<Cast>()) nodes = nodes.subspan(1);
  if (!nodes.empty() && takes_first_part(*nodes[0], problem)) nodes = nodes.subspan(1);
  if (!nodes.empty()) return unsupported("{} behind a transform", nodes[0]->op->name());
  const auto number = [&](int index) {
    return transform.has_input(index) ? input_number(transform.input(index)) : -1;
  };
  return lines_of(problem, op, {input_number(x), number(1), number(2)});
}

}  // namespace

Result<FourierLines> describe_fourier(const Problem& problem) {
  if (problem.operation.is<Fused>()) return lines_of_region(problem);
  if (const auto* dft = problem.operation.as<Dft>()) return lines_of(problem, *dft);
  if (const auto* stft = problem.operation.as<Stft>()) return lines_of(problem, *stft);
  return unsupported("not a Fourier transform");
}

std::vector<int64_t> fourier_factors(int64_t length) {
  std::vector<int64_t> factors;
  for (int64_t factor = 4; length > 1; factor = factor == 4 ? 2 : factor == 2 ? 3 : factor + 2) {
    while (length % factor == 0) {
      factors.push_back(factor);
      length /= factor;
    }
    if (factor > 4 && factor * factor > length && length > 1) {
      factors.push_back(length);
      break;
    }
  }
  return factors;
}

}  // namespace tenon
