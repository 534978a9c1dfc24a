#include "kernels/rows/rows.h"

namespace tenon::cpu {

const RowFunctions& row_functions(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return row_functions_avx512();
  if (isa >= Isa::avx2) return row_functions_avx2();
#endif
  (void)isa;
  return row_functions_generic();
}

}  // namespace tenon::cpu
