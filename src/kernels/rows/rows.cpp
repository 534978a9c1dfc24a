#include "kernels/rows/rows.h"

namespace tenon::cpu {

const RowFunctions& row_functions(Isa isa) {
  return TENON_BY_ISA(isa, row_functions_generic(), row_functions_avx2(), row_functions_avx512());
}

}  // namespace tenon::cpu
