#pragma once

#include <cstdint>

#include "device/cpu/isa.h"

/// Functions of a byte, looked up.
namespace tenon::cpu {

inline constexpr int64_t kByteValues = 256;

/// to[i] = table[from[i]] for bytes, and for elements of 4 bytes.
struct ByteTableFunctions {
  void (*bytes)(const uint8_t* table, const uint8_t* from, uint8_t* to, int64_t count);
  void (*words)(const uint32_t* table, const uint8_t* from, uint32_t* to, int64_t count);
};
const ByteTableFunctions& byte_table_functions(Isa isa);

extern const ByteTableFunctions kByteTableGeneric, kByteTableAvx512;

}  // namespace tenon::cpu
