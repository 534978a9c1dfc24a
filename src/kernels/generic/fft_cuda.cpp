// Discrete Fourier transforms on NVIDIA GPUs: lines whose length is known and fits into shared
// memory. Regions of a transform may read and give 16 bits, and give real parts alone.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <span>

#include "kernels/generic/formula.h"
#include "kernels/jit/tactic.h"
#include "kernels/region.h"
#include "ops/ops.h"

namespace tenon::tactics::cuda_fft {
namespace {

constexpr int64_t kBlock = 256;
/// Factors of a length up to here are transformed by one thread.
constexpr int64_t kMostInRegisters = 7;
constexpr int64_t kPointsOfBlock = 1024;  ///< Four a thread, where lines are short.

/// An axis of the tensor other than the transform's: lines follow each other along it.
struct LineAxis {
  int64_t extent, in_stride, out_stride;
};

/// Lines of a problem: strides in elements.
struct Transform {
  int64_t length = 0, given = 0, results = 0;  ///< Numbers of a line: all, read and written.
  int64_t in_step = 0, in_part = 0, in_parts = 1, out_step = 0, out_part = 0, out_parts = 2;
  bool inverse = false, mirror = false;
  int source = 0;              ///< The operand that lines are read from.
  int window = -1;             ///< The operand that factors come from.
  std::vector<LineAxis> axes;  ///< Slowest first.

  int64_t count() const {
    int64_t count = 1;
    for (const LineAxis& axis : axes) count *= axis.extent;
    return count;
  }
};

void add_parts(Transform& t, const Operand& x, const Operand& y) {
  const std::vector<int64_t> in = strides_of(x), out = strides_of(y);
  t.in_parts = x.extents.back();
  t.in_part = in.back();
  t.out_parts = y.extents.back();
  t.out_part = out.back();
}

/// `inputs`: the problem's, for x, length and axis; -1: absent.
Result<Transform> lines_of(const Problem& problem, const Dft& op,
                           const std::array<int, 3>& inputs = {0, 1, 2}) {
  const Operand &x = problem.input(inputs[0]), &y = problem.output();
  TENON_ASSIGN(const int64_t wanted, known_number(problem, inputs[2], -2));
  const int axis = axis_of(wanted, x.rank());
  if (axis == 0) return unsupported("along the slowest axis, of which code holds for all extents");
  Transform t;
  t.source = inputs[0];
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

Result<Transform> lines_of(const Problem& problem, const Stft&) {
  const Operand &x = problem.input(0), &y = problem.output();
  TENON_ASSIGN(const int64_t step, known_number(problem, 1, 1));
  Transform t;
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
Result<Transform> lines_of_region(const Problem& problem) {
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

Result<Transform> describe(const Problem& problem) {
  if (problem.operation.is<Fused>()) return lines_of_region(problem);
  if (const auto* dft = problem.operation.as<Dft>()) return lines_of(problem, *dft);
  if (const auto* stft = problem.operation.as<Stft>()) return lines_of(problem, *stft);
  return unsupported("not a Fourier transform");
}

Status check(const Problem& problem, const Transform& t) {
  const Operand &x = problem.input(t.source), &y = problem.output();
  if (!is_real(x.type) || device_type(x.type) == nullptr || device_type(y.type) == nullptr)
    return unsupported("{} to {}; takes floats", name_of(x.type), name_of(y.type));
  if (t.window >= 0 && problem.input(t.window).type != x.type)
    return unsupported("a window of another type");
  if (t.length < 1 || t.results > t.length) return unsupported("a length of {}", t.length);
  if (!small_indices(problem)) return unsupported("a tensor beyond 2^31 elements");
  return {};
}

/// Factors of a length, fours first: each a pass.
std::vector<int64_t> factors_of(int64_t length) {
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

/// Calls of the code's passes. A large factor's, in which each number of the operand is read for
/// each of the result's, does not read it from memory.
std::string passes_of(int64_t length) {
  std::vector<int64_t> factors = factors_of(length);
  if (factors.empty() || factors[0] > kMostInRegisters) factors.insert(factors.begin(), 1);
  std::string text = "#define PASSES";
  int64_t stride = 1;
  for (size_t i = 0; i < factors.size(); ++i) {
    const char* const from = i == 0 ? "source" : i % 2 == 1 ? "a" : "b";
    const char* const to = i + 1 == factors.size() ? "result" : i % 2 == 0 ? "a" : "b";
    text += fmt::format("{} pass<{}, {}, {}>({}, {}, roots);", i == 0 ? "" : " __syncthreads();",
                        factors[i], stride, factors[i] <= kMostInRegisters, from, to);
    stride *= factors[i];
  }
  return text + "\n";
}

/// A function from a line's number to its place; the slowest axis needs no extent.
std::string place_function(const char* name, const Transform& t, int64_t LineAxis::*stride) {
  std::string text =
      fmt::format("__device__ inline Index {}(int line) {{\n  Index at = 0;\n", name);
  for (size_t i = t.axes.size(); i-- > 1;)
    text += fmt::format("  at += Index(line % {0}) * Index({1});\n  line /= {0};\n",
                        t.axes[i].extent, t.axes[i].*stride);
  const int64_t slowest = t.axes.empty() ? 0 : t.axes.front().*stride;
  return text + fmt::format("  return at + Index(line) * Index({});\n}}\n", slowest);
}

template <class Real>
std::vector<std::byte> roots_of(int64_t length, bool inverse) {
  std::vector<Real> roots;
  for (int64_t i = 0; i < length; ++i) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(length);
    roots.push_back(static_cast<Real>(std::cos(angle)));
    roots.push_back(static_cast<Real>(inverse ? std::sin(angle) : -std::sin(angle)));
  }
  std::vector<std::byte> bytes(roots.size() * sizeof(Real));
  std::memcpy(bytes.data(), roots.data(), bytes.size());
  return bytes;
}

Result<JitPlan> plan(const Problem& problem, std::string_view) {
  TENON_ASSIGN(const Transform t, describe(problem));
  TENON_TRY(check(problem, t));
  const Operand& x = problem.input(t.source);
  const bool wide = x.type == DataType::kFloat64;
  const int64_t lines = std::clamp<int64_t>(kPointsOfBlock / t.length, 1, 32);
  const int64_t bytes = (2 * lines + 1) * t.length * (wide ? 16 : 8);
  TENON_TRY(check_shared(problem, "a line", bytes));
  const bool across = !t.axes.empty() && t.axes.back().in_stride < t.in_step;
  KernelCode code;
  begin_code(code, problem);
  code.type("X", x.type);
  code.type("Y", problem.output().type);
  code.alias("Real", wide ? "f64" : "f32");
  code.constant("kLength", t.length);
  code.constant("kGiven", t.given);
  code.constant("kResults", t.results);
  code.constant("kInStep", t.in_step);
  code.constant("kInPart", t.in_part);
  code.constant("kParts", t.in_parts);
  code.constant("kOutStep", t.out_step);
  code.constant("kOutPart", t.out_part);
  code.constant("kOutParts", t.out_parts);
  code.constant("kLines", lines);
  code.constant("kBlock", kBlock);
  code.constant("kWindowStep", t.window < 0 ? 0 : strides_of(problem.input(t.window)).back());
  code.open("kCount", t.count());
  code.flag("kInverse", t.inverse);
  code.flag("kMirror", t.mirror);
  code.flag("kHasWindow", t.window >= 0);
  code.flag("kAcross", across);
  code.text(passes_of(t.length));
  code.text(place_function("input_place", t, &LineAxis::in_stride));
  code.text(place_function("output_place", t, &LineAxis::out_stride));
  JitLaunch launch;
  TENON_TRY(set_source(launch, code, {"generic/fft.cu"}));
  if (all_axes_are_open(problem)) launch.open = {};  // The length decides the passes.
  launch.grid[0] = blocks_for(t.count(), lines);
  launch.block[0] = kBlock;
  launch.shared_bytes = static_cast<int>(bytes);
  launch.add(JitArgument::input(t.source));
  launch.add(t.window < 0 ? JitArgument::null() : JitArgument::input(t.window));
  launch.add(JitArgument::constant(0));
  launch.add(JitArgument::output());
  JitPlan plan = plan_of(std::move(launch));
  plan.constants.push_back([length = t.length, inverse = t.inverse, wide] {
    return wide ? roots_of<double>(length, inverse) : roots_of<float>(length, inverse);
  });
  return plan;
}

/// Code for all lengths there is none, and plans for several lengths compile nothing when they run.
Support known_length_support(const Problem& problem, JitPlanner planner) {
  if (all_axes_are_open(problem)) return Support::no("the length is not known");
  return jit_support(problem, planner);
}

}  // namespace
}  // namespace tenon::tactics::cuda_fft

namespace tenon::tactics {
TENON_JIT_TACTIC_BY(cuda_fft, single_config, known_length_support)
}  // namespace tenon::tactics
