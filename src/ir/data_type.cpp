#include "ir/data_type.h"

#include <iterator>

namespace tenon {
namespace {

enum class Category { real, integer, boolean };

struct Row {
  std::string_view name;
  int bytes;
  Category category;
};

constexpr Row kRows[] = {
#define TENON_DATA_TYPE(enumerator, name, bytes, category) {#name, bytes, Category::category},
#include "ir/data_types.def"
};

const Row& row(DataType type) {
  return kRows[static_cast<int>(type)];
}

}  // namespace

int byte_size(DataType type) {
  return row(type).bytes;
}
std::string_view name_of(DataType type) {
  return row(type).name;
}
bool is_real(DataType type) {
  return row(type).category == Category::real;
}
bool is_integer(DataType type) {
  return row(type).category == Category::integer;
}
bool is_half(DataType type) {
  return is_real(type) && byte_size(type) == 2;
}
bool is_byte_integer(DataType type) {
  return type == DataType::kInt8 || type == DataType::kUInt8;
}

std::optional<DataType> data_type_by_name(std::string_view name) {
  for (size_t i = 0; i < std::size(kRows); ++i)
    if (kRows[i].name == name) return static_cast<DataType>(i);
  return std::nullopt;
}

}  // namespace tenon
