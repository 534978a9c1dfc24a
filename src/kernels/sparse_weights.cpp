#include "kernels/sparse_weights.h"

namespace tenon {
namespace {

constexpr int64_t kGroup = 4;
constexpr int kFilled = 2;

/// Calls is_filled(index) until a group has too many.
template <class Function>
bool has_pattern(const Extents& extents, size_t axis, const Function& is_filled) {
  const int64_t extent = extents[axis];
  int64_t inner = 1, outer = 1;
  for (size_t i = 0; i < axis; ++i) outer *= extents[i];
  for (size_t i = axis + 1; i < extents.size(); ++i) inner *= extents[i];
  if (extent == 0 || extent % kGroup != 0) return false;
  for (int64_t first = 0; first < outer * extent; first += kGroup)
    for (int64_t i = 0; i < inner; ++i) {
      int filled = 0;
      for (int64_t k = 0; k < kGroup; ++k) filled += is_filled((first + k) * inner + i) ? 1 : 0;
      if (filled > kFilled) return false;
    }
  return true;
}

}  // namespace

bool has_sparse_pattern(const Tensor& weights, size_t axis) {
  if (!weights.defined() || axis >= weights.extents().size() || weights.count() == 0) return false;
  const Extents& extents = weights.extents();
  const bool half = is_half(weights.type());
  if (!half)
    return has_pattern(extents, axis, [&](int64_t i) { return weights.as_double(i) != 0; });
  const uint16_t* bits = weights.values<uint16_t>().data();
  return has_pattern(extents, axis, [bits](int64_t i) { return (bits[i] & 0x7fff) != 0; });
}

bool is_sparse(std::string_view tactic) {
  return tactic.find(".sparse") != std::string_view::npos;
}

std::string_view sparse_word(const Tensor& weights) {
  const bool half = is_half(weights.type());
  if (!half || weights.extents().size() < 2) return "";
  const bool columns_first = has_sparse_pattern(weights, 1);
  const bool depth_first = weights.extents().size() == 2 && has_sparse_pattern(weights, 0);
  if (columns_first) return depth_first ? "2:4 both" : "2:4 rows";
  return depth_first ? "2:4" : "";
}

}  // namespace tenon
