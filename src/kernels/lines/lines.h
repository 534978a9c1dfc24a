#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"

/// Operators along one axis of a strided tensor: the place of the largest element, the k largest
/// ones, running sums.
namespace tenon::cpu {

/// Types of elements; bf16 is compared and summed as float.
enum class LineType : uint8_t { f32, bf16, i32, i64 };

/// Strides of one axis in x and in the (one or two, equal) results.
struct LineAxis {
  int64_t extent = 1, x = 0, y = 0;
};

struct LineProblem {
  LineType type = LineType::f32;
  LineAxis along;               ///< `extent` is x's.
  LineAxis side;                ///< Contiguous in x where there is such an axis, else of extent 1.
  std::vector<LineAxis> outer;  ///< The others.
  bool largest = true, last_index = false;  ///< Largest and top k.
  int64_t k = 0;                            ///< Top k.
  /// Values of the top k become softmax over the line, or its logarithm. Real types,
  /// contiguous lines and results.
  bool softmax = false, log = false;
  bool product = false, exclusive = false, reverse = false;  ///< Running sums.
  Isa isa = detected_isa();
  int threads = 1;
};

/// places[y] = where along its line the largest (or smallest) element of x is.
void largest_places(const LineProblem& problem, const void* x, int64_t* places, ThreadPool& pool);

size_t top_k_scratch_bytes(const LineProblem& problem);
void top_k(const LineProblem& problem, const void* x, void* values, int64_t* places,
           ThreadPool& pool, void* scratch);

void running_sums(const LineProblem& problem, const void* x, void* y, ThreadPool& pool);

/// Neighbouring lines that are looked at together.
inline constexpr int64_t kLinesTogether = 64;

/// Inner loops of one instruction set.
struct LineFunctions {
  /// The places of up to kLinesTogether neighbouring lines of floats, `step` apart along them.
  void (*largest)(bool bf16, const void* x, int64_t extent, int64_t step, int64_t lines,
                  bool largest, bool last, int64_t* places);
  /// Which of a row's elements from `from` on is the first above the limit, or not a number; n
  /// where none is.
  int64_t (*first_above)(bool bf16, const void* x, int64_t from, int64_t n, float limit);
};
TENON_BY_ISA(const LineFunctions&, line_functions)

}  // namespace tenon::cpu
