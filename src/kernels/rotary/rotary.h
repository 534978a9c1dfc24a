#pragma once

#include <cstdint>

#include "device/cpu/isa.h"
#include "kernels/epilogue/epilogue.h"

/// Rotation of pairs of elements by angles that depend on the position.
namespace tenon::cpu {

/// One head at one position: x to y, `size` elements of which the first `rotated` turn.
struct RotaryRow {
  ElementType type = ElementType::f32;
  const void *x, *cos, *sin;
  void* y;
  int64_t size = 0, rotated = 0;
  bool interleaved = false;  ///< Pairs are neighbours, else halves.
};
using RotaryFunction = void (*)(const RotaryRow& row);
TENON_BY_ISA(RotaryFunction, rotary_function)

}  // namespace tenon::cpu
