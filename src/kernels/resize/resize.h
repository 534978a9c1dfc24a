#pragma once

#include <cstdint>
#include <vector>

#include "device/cpu/isa.h"
#include "device/cpu/thread_pool.h"
#include "kernels/epilogue/epilogue.h"

/// Interpolation of any axes of a strided tensor by fixed taps.
namespace tenon::cpu {

struct ResizeWeight {
  int64_t offset;  ///< In the input, in elements.
  float weight;
};

/// One axis of the result: each element's taps lie in `weights` from first[i] to first[i + 1].
struct ResizeAxis {
  int64_t input = 1, output = 1;
  int64_t from = 0, to = 0;  ///< Strides in elements.
  bool resized = false;
  std::vector<int64_t> first;
  std::vector<ResizeWeight> weights;
};

/// The fastest axis by vectors of results: all taps of one lie within two vectors of the input.
struct ResizeSpread {
  int taps = 0;                 ///< Of each result; missing ones weigh 0. 0: it does not go so.
  std::vector<int32_t> first;   ///< For each vector, the first element of the two.
  std::vector<int32_t> places;  ///< [vector][tap][lane], from there.
  std::vector<float> weights;   ///< Likewise.
};

/// Axes from the slowest to the fastest of the result; the fastest is contiguous in it.
struct ResizeProblem {
  std::vector<ResizeAxis> axes;
  ElementType type = ElementType::f32;
  ResizeSpread spread = {};
  bool copies = false;  ///< Every element is one of the input: any type will do.
  int bytes = 4;        ///< Of an element.
  Isa isa = detected_isa();
  int threads = 1;
};

/// Inner loops of one instruction set.
struct ResizeFunctions {
  /// to[i] = sum of weights[k].weight * x[weights[k].offset + i].
  void (*combine)(ElementType type, const void* x, const ResizeWeight* weights, int64_t count,
                  int64_t n, void* to, ElementType to_type);
  /// `n` results from a line with room for two vectors behind it.
  void (*spread)(const ResizeSpread& spread, int64_t n, const float* line, void* to,
                 ElementType to_type);
  int width;  ///< Of a vector.
};
TENON_BY_ISA(const ResizeFunctions&, resize_functions)

/// Finds the form of the fastest axis; the rest of the problem must be there.
void prepare_spread(ResizeProblem& problem);
size_t resize_scratch_bytes(const ResizeProblem& problem);
/// `scratch` holds that many bytes.
void resize(const ResizeProblem& problem, const void* x, void* y, ThreadPool& pool, void* scratch);

}  // namespace tenon::cpu
