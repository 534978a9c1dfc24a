#pragma once

/// Dims of a fixed number of axes.

#include "NvInferRuntimeBase.h"

namespace nvinfer1 {

/// Two extents.
class Dims2 : public Dims {
 public:
  Dims2() noexcept : Dims2(0, 0) {}
  Dims2(int64_t d0, int64_t d1) noexcept {
    nbDims = 2;
    d[0] = d0;
    d[1] = d1;
    for (int32_t i = nbDims; i < Dims::MAX_DIMS; ++i) d[i] = 0;
  }
};

/// Height and width.
class DimsHW : public Dims2 {
 public:
  DimsHW() noexcept : Dims2() {}
  DimsHW(int64_t height, int64_t width) noexcept : Dims2(height, width) {}
  /// Returns the height, writable.
  int64_t& h() noexcept { return d[0]; }
  /// Returns the height.
  int64_t h() const noexcept { return d[0]; }
  /// Returns the width, writable.
  int64_t& w() noexcept { return d[1]; }
  /// Returns the width.
  int64_t w() const noexcept { return d[1]; }
};

/// Three extents.
class Dims3 : public Dims2 {
 public:
  Dims3() noexcept : Dims3(0, 0, 0) {}
  Dims3(int64_t d0, int64_t d1, int64_t d2) noexcept : Dims2(d0, d1) {
    nbDims = 3;
    d[2] = d2;
  }
};

/// Four extents.
class Dims4 : public Dims3 {
 public:
  Dims4() noexcept : Dims4(0, 0, 0, 0) {}
  Dims4(int64_t d0, int64_t d1, int64_t d2, int64_t d3) noexcept : Dims3(d0, d1, d2) {
    nbDims = 4;
    d[3] = d3;
  }
};

}  // namespace nvinfer1
