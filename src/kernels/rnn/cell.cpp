#include "kernels/rnn/cell.h"

namespace tenon::cpu {

const CellFunctions& cell_functions(Isa isa) {
#if defined(__x86_64__)
  if (isa >= Isa::avx512) return cell_functions_avx512();
  if (isa >= Isa::avx2) return cell_functions_avx2();
#endif
  (void)isa;
  return cell_functions_generic();
}

}  // namespace tenon::cpu
