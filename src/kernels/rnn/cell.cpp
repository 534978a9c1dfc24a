#include "kernels/rnn/cell.h"

namespace tenon::cpu {

const CellFunctions& cell_functions(Isa isa) {
  return TENON_BY_ISA(isa, cell_functions_generic(), cell_functions_avx2(),
                      cell_functions_avx512());
}

}  // namespace tenon::cpu
