#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace tenon {

/// Element type of a tensor; the rows of ir/data_types.def.
enum class DataType : uint8_t {
#define TENON_DATA_TYPE(enumerator, name, bytes, category) enumerator,
#include "ir/data_types.def"
};

/// Bytes an element takes in memory.
int byte_size(DataType type);
/// Short name as in the IR's text: f32, i64, ...
std::string_view name_of(DataType type);
std::optional<DataType> data_type_by_name(std::string_view name);
bool is_real(DataType type);
bool is_integer(DataType type);
/// f16 or bf16.
bool is_half(DataType type);
/// i8 or u8.
bool is_byte_integer(DataType type);

}  // namespace tenon
