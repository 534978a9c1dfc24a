#pragma once

#include <cstdint>

#include "device/cpu/isa.h"
#include "kernels/epilogue/epilogue.h"

/// Quantization and back, a run of elements at a time.
namespace tenon::cpu {

enum class QuantizedType : uint8_t { i8, u8, i32 };  ///< i32 is only read.
constexpr int64_t quantized_size(QuantizedType type) {
  return type == QuantizedType::i32 ? 4 : 1;
}

/// `count` neighbours, with one scale and zero point, or (`each`) with one of their own each.
struct QuantizeRun {
  ElementType real = ElementType::f32;
  QuantizedType quantized = QuantizedType::i8;
  const void* from;
  void* to;
  int64_t count = 0;
  const float* scales;
  const float* zeros;
  bool each = false;
};

struct QuantizeFunctions {
  void (*quantize)(const QuantizeRun& run);
  void (*dequantize)(const QuantizeRun& run);
  /// Takes numbers into [low, high]; NaN changes nothing.
  void (*range)(const float* from, int64_t count, float& low, float& high);
};
TENON_BY_ISA(const QuantizeFunctions&, quantize_functions)

}  // namespace tenon::cpu
