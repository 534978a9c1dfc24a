#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/pooling/pool.h"

namespace tenon::cpu {
namespace {
#include "kernels/pooling/pool_body.h"
}  // namespace

PoolPixel pool_pixel_avx2() {
  return pixel;
}

}  // namespace tenon::cpu
