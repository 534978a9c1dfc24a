#include "kernels/conv/narrow_body.h"
#include "kernels/vector_math/isa_vector.h"

namespace tenon::cpu {

void TENON_OF_ISA(narrow)(const NarrowLine& line) {
  narrow<vector_math::IsaVector>(line);
}

}  // namespace tenon::cpu
