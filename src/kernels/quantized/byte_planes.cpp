#include "kernels/quantized/byte_planes.h"

namespace tenon::cpu {

BytePlanesFunction byte_planes(Isa isa) {
  return TENON_BY_ISA(isa, byte_planes_generic, byte_planes_avx2, byte_planes_avx512);
}

}  // namespace tenon::cpu
