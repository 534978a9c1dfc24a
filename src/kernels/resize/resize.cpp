#include "kernels/resize/resize.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "device/cpu/worker_memory.h"

namespace tenon::cpu {
namespace {

/// Taps of nested axes multiply; more than these are summed up in pieces.
constexpr int64_t kMaxTaps = 256;

/// The innermost axis when it is resized: elements of a row of the input, already combined.
template <class T> void pick_row(const ResizeAxis& axis, const T* from, T* to) {
  for (int64_t i = 0; i < axis.output; ++i) to[i] = from[axis.weights[axis.first[i]].offset];
}

void narrowed(float x, float& to) {
  to = x;
}
void narrowed(float x, uint16_t& to) {
  const uint32_t bits = std::bit_cast<uint32_t>(x);
  to = static_cast<uint16_t>(x != x ? 0x7fc0 : (bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/// The same with weights; `from` is dense.
template <class T> void interpolate_row(const ResizeAxis& axis, const float* from, T* to) {
  for (int64_t i = 0; i < axis.output; ++i) {
    float sum = 0;
    for (int64_t k = axis.first[i]; k < axis.first[i + 1]; ++k)
      sum += axis.weights[k].weight * from[axis.weights[k].offset];
    narrowed(sum, to[i]);
  }
}

/// The fastest axes are pixels of channels, of which the pixels are resized: a line of them is
/// combined of whole lines, unless most of its pixels would not be read.
bool goes_by_lines(const ResizeProblem& problem) {
  if (problem.copies || problem.axes.size() < 2) return false;
  const ResizeAxis &last = problem.axes.back(), &pixels = problem.axes[problem.axes.size() - 2];
  return !last.resized && pixels.resized && pixels.from == last.input && last.from == 1 &&
         static_cast<int64_t>(pixels.weights.size()) >= pixels.input;
}

/// Fastest axes that one call handles.
size_t inner_axes(const ResizeProblem& problem) {
  return goes_by_lines(problem) ? 2 : 1;
}

/// Products of the taps of all axes but the `inner` last at one place.
struct Taps {
  ResizeWeight all[kMaxTaps];
  int64_t count = 0;
  int64_t to = 0;  ///< Offset in the result.

  void at(const ResizeProblem& problem, size_t inner, int64_t row) {
    all[0] = {0, 1.0f};
    count = 1, to = 0;
    for (size_t a = problem.axes.size() - inner; a-- > 0;) {
      const ResizeAxis& axis = problem.axes[a];
      const int64_t i = row % axis.output;
      row /= axis.output;
      to += i * axis.to;
      if (axis.resized)
        multiply(axis, i);
      else
        for (int64_t k = 0; k < count; ++k) all[k].offset += i * axis.from;
    }
  }

 private:
  void multiply(const ResizeAxis& axis, int64_t i) {
    const int64_t before = count, each = axis.first[i + 1] - axis.first[i];
    for (int64_t t = each; t-- > 0;) {
      const ResizeWeight& tap = axis.weights[axis.first[i] + t];
      for (int64_t k = 0; k < before; ++k)
        all[t * before + k] = {all[k].offset + tap.offset, all[k].weight * tap.weight};
    }
    count = before * each;
  }
};

struct Run {
  const ResizeProblem& problem;
  const ResizeFunctions& functions;
  const void* x;
  void* y;

  const char* input(int64_t at) const { return static_cast<const char*>(x) + at * problem.bytes; }

  void copy(const Taps& taps, char* to) const {
    const ResizeAxis& last = problem.axes.back();
    const char* from = input(taps.all[0].offset);
    if (!last.resized && last.from == 1) {
      std::memcpy(to, from, static_cast<size_t>(last.output * problem.bytes));
      return;
    }
    switch (problem.bytes) {
      case 1:
        return pick_row(last, reinterpret_cast<const uint8_t*>(from),
                        reinterpret_cast<uint8_t*>(to));
      case 2:
        return pick_row(last, reinterpret_cast<const uint16_t*>(from),
                        reinterpret_cast<uint16_t*>(to));
      case 4:
        return pick_row(last, reinterpret_cast<const uint32_t*>(from),
                        reinterpret_cast<uint32_t*>(to));
      default:
        return pick_row(last, reinterpret_cast<const uint64_t*>(from),
                        reinterpret_cast<uint64_t*>(to));
    }
  }

  void interpolate(const Taps& taps, char* to, float* line) const {
    const ResizeAxis& last = problem.axes.back();
    if (!last.resized)
      return functions.combine(problem.type, x, taps.all, taps.count, last.output, to,
                               problem.type);
    functions.combine(problem.type, x, taps.all, taps.count, last.input, line, ElementType::f32);
    if (problem.spread.taps > 0)
      functions.spread(problem.spread, last.output, line, to, problem.type);
    else if (problem.type == ElementType::f32)
      interpolate_row(last, line, reinterpret_cast<float*>(to));
    else
      interpolate_row(last, line, reinterpret_cast<uint16_t*>(to));
  }

  void pixels(const Taps& taps, char* to, float* line) const {
    const ResizeAxis &last = problem.axes.back(), &axis = problem.axes[problem.axes.size() - 2];
    functions.combine(problem.type, x, taps.all, taps.count, axis.input * last.input, line,
                      ElementType::f32);
    for (int64_t i = 0; i < axis.output; ++i)
      functions.combine(ElementType::f32, line, &axis.weights[axis.first[i]],
                        axis.first[i + 1] - axis.first[i], last.output,
                        to + i * axis.to * problem.bytes, problem.type);
  }

  void row(int64_t index, size_t inner, float* line) const {
    Taps taps;
    taps.at(problem, inner, index);
    char* to = static_cast<char*>(y) + taps.to * problem.bytes;
    if (inner == 2) return pixels(taps, to, line);
    problem.copies ? copy(taps, to) : interpolate(taps, to, line);
  }
};

size_t line_bytes(const ResizeProblem& problem) {
  int64_t elements = 1, behind = 0;
  if (problem.spread.taps > 0) behind = 2 * resize_functions(problem.isa).width;
  for (size_t i = 0; i < inner_axes(problem); ++i)
    elements *= problem.axes[problem.axes.size() - 1 - i].input;
  return worker_stride(static_cast<size_t>(elements + behind) * sizeof(float), problem.threads);
}

/// Taps of the results from `begin` on, or false where they lie too far apart.
bool add_vector(const ResizeAxis& axis, int64_t begin, int width, ResizeSpread& s) {
  const int64_t end = std::min<int64_t>(begin + width, axis.output);
  int64_t low = INT64_MAX, high = 0;
  for (int64_t k = axis.first[begin]; k < axis.first[end]; ++k) {
    low = std::min(low, axis.weights[k].offset);
    high = std::max(high, axis.weights[k].offset);
  }
  if (low > high || high - low >= 2 * width) return false;
  s.first.push_back(static_cast<int32_t>(low));
  for (int t = 0; t < s.taps; ++t)
    for (int64_t i = begin; i < begin + width; ++i) {
      const bool there = i < end && axis.first[i] + t < axis.first[i + 1];
      const ResizeWeight tap = there ? axis.weights[axis.first[i] + t] : ResizeWeight{low, 0.0f};
      s.places.push_back(static_cast<int32_t>(tap.offset - low));
      s.weights.push_back(tap.weight);
    }
  return true;
}

}  // namespace

void prepare_spread(ResizeProblem& problem) {
  const ResizeAxis& axis = problem.axes.back();
  const int width = resize_functions(problem.isa).width;
  if (problem.copies || !axis.resized || width == 1 || axis.input >= INT32_MAX) return;
  ResizeSpread s;
  for (int64_t i = 0; i < axis.output; ++i)
    s.taps = std::max(s.taps, static_cast<int>(axis.first[i + 1] - axis.first[i]));
  for (int64_t i = 0; i < axis.output; i += width)
    if (!add_vector(axis, i, width, s)) return;
  problem.spread = std::move(s);
}

size_t resize_scratch_bytes(const ResizeProblem& problem) {
  const bool has_lines = goes_by_lines(problem) || problem.axes.back().resized;
  return problem.copies || !has_lines ? 0
                                      : line_bytes(problem) * static_cast<size_t>(problem.threads);
}

void resize(const ResizeProblem& problem, const void* x, void* y, ThreadPool& pool, void* scratch) {
  const Run run{problem, resize_functions(problem.isa), x, y};
  const size_t inner = inner_axes(problem);
  int64_t rows = 1, each = 1;
  for (size_t a = 0; a < problem.axes.size(); ++a)
    (a + inner < problem.axes.size() ? rows : each) *= problem.axes[a].output;
  const int64_t grain = std::max<int64_t>(1, 8192 / each);
  pool.for_each(rows, grain, [&](int64_t row, int worker) {
    auto* line =
        reinterpret_cast<float*>(static_cast<char*>(scratch) + worker * line_bytes(problem));
    run.row(row, inner, line);
  });
}

}  // namespace tenon::cpu
