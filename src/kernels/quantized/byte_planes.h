#pragma once

#include <cstdint>

#include "device/cpu/isa.h"

/// Images whose channels come first, on their way to pixels.
namespace tenon::cpu {

/// Lines of channels, `stride` bytes from each other.
struct BytePlanes {
  const uint8_t* first;
  int64_t stride, count;
};

/// `count` pixels of the line, each of which takes `pixel` <= 4 bytes, at least as many as there
/// are planes: bytes behind these may hold anything.
using BytePlanesFunction = void (*)(const BytePlanes& planes, int64_t pixel, int64_t count,
                                    uint8_t* to);
TENON_FUNCTION_BY_ISA(BytePlanesFunction, byte_planes)

}  // namespace tenon::cpu
