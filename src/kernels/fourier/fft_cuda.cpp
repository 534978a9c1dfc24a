// Discrete Fourier transforms on NVIDIA GPUs: lines whose length is known and fits into shared
// memory. Regions of a transform may read and give 16 bits, and give real parts alone.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "kernels/fourier/lines.h"
#include "kernels/jit/tactic.h"
#include "ops/ops.h"

namespace tenon::tactics::cuda_fft {
namespace {

constexpr int64_t kBlock = 256;
/// Factors of a length up to here are transformed by one thread.
constexpr int64_t kMostInRegisters = 7;
constexpr int64_t kPointsOfBlock = 1024;  ///< Four a thread, where lines are short.

Status check(const Problem& problem, const FourierLines& t) {
  const Operand &x = problem.input(t.source), &y = problem.output();
  if (!is_real(x.type) || device_type(x.type) == nullptr || device_type(y.type) == nullptr)
    return unsupported("{} to {}; takes floats", name_of(x.type), name_of(y.type));
  if (t.window >= 0 && problem.input(t.window).type != x.type)
    return unsupported("a window of another type");
  if (t.axis == 0)
    return unsupported("along the slowest axis, of which code holds for all extents");
  if (t.length < 1 || t.results > t.length) return unsupported("a length of {}", t.length);
  if (!small_indices(problem)) return unsupported("a tensor beyond 2^31 elements");
  return {};
}

/// Calls of the code's passes. A large factor's, in which each number of the operand is read for
/// each of the result's, does not read it from memory.
std::string passes_of(int64_t length) {
  std::vector<int64_t> factors = fourier_factors(length);
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
std::string place_function(const char* name, const FourierLines& t, int64_t LineAxis::*stride) {
  std::string text =
      fmt::format("__device__ inline Index {}(int line) {{\n  Index at = 0;\n", name);
  for (size_t i = t.axes.size(); i-- > 1;)
    text += fmt::format("  at += Index(line % {0}) * Index({1});\n  line /= {0};\n",
                        t.axes[i].extent, t.axes[i].*stride);
  const int64_t slowest = t.axes.empty() ? 0 : t.axes.front().*stride;
  return text + fmt::format("  return at + Index(line) * Index({});\n}}\n", slowest);
}

template <class Real> std::vector<std::byte> roots_of(int64_t length, bool inverse) {
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
  TENON_ASSIGN(const FourierLines t, describe_fourier(problem));
  TENON_TRY(check(problem, t));
  const Operand& x = problem.input(t.source);
  const bool wide = x.type == DataType::kFloat64;
  const int64_t lines = std::clamp<int64_t>(kPointsOfBlock / t.length, 1, 32);
  const int64_t bytes = (2 * lines + 1) * t.length * (wide ? 16 : 8);
  TENON_TRY(check_shared(problem, "a line", bytes));
  const bool across = !t.axes.empty() && t.axes.back().in_stride < t.in_step;
  KernelCode code = begin_code(problem);
  code.types("X Y", x.type, problem.output().type);
  code.alias("Real", wide ? "f64" : "f32");
  code.constants("kLength kGiven kResults kInStep", t.length, t.given, t.results, t.in_step);
  code.constants("kInPart kParts kOutStep kOutPart", t.in_part, t.in_parts, t.out_step, t.out_part);
  code.constants("kOutParts kLines kBlock", t.out_parts, lines, kBlock);
  code.constant("kWindowStep", t.window < 0 ? 0 : strides_of(problem.input(t.window)).back());
  code.open("kCount", t.count());
  code.flags("kInverse kMirror kHasWindow kAcross", t.inverse, t.mirror, t.window >= 0, across);
  code.text(passes_of(t.length));
  code.text(place_function("input_place", t, &LineAxis::in_stride));
  code.text(place_function("output_place", t, &LineAxis::out_stride));
  TENON_ASSIGN(JitLaunch launch,
               make_launch(code, {"fourier/fft.cu"}, blocks_for(t.count(), lines), kBlock));
  if (all_axes_are_open(problem)) launch.open = {};  // The length decides the passes.
  launch.shared_bytes = static_cast<int>(bytes);
  launch.add({JitArgument::input(t.source),
              t.window < 0 ? JitArgument::null() : JitArgument::input(t.window),
              JitArgument::constant(0), JitArgument::output()});
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
