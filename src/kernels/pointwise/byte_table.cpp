#include "kernels/pointwise/byte_table.h"

namespace tenon::cpu {
namespace {

template <class T> void look_up(const T* table, const uint8_t* from, T* to, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = table[from[i]];
}

}  // namespace

const ByteTableFunctions kByteTableGeneric = {look_up<uint8_t>, look_up<uint32_t>};

const ByteTableFunctions& byte_table_functions(Isa isa) {
  return TENON_BEST_OF_ISA(isa, kByteTableGeneric, kByteTableGeneric, kByteTableAvx512);
}

}  // namespace tenon::cpu
