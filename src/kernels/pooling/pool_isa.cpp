#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "kernels/pooling/pool.h"
#include "kernels/vector_math/isa.h"

namespace tenon::cpu {
namespace {
#include "kernels/pooling/pool_body.h"
}  // namespace

PoolLine TENON_OF_ISA(pool_line)() {
  return line;
}

}  // namespace tenon::cpu
