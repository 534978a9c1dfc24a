#include "kernels/movement/scatter_places.h"

#include <algorithm>

#include "ops/movement.h"

namespace tenon {
namespace {

/// Indices that lie outside are no updates.
constexpr int64_t kNowhere = -1;

int64_t wrapped(int64_t index, int64_t extent) {
  if (index < 0) index += extent;
  return index < 0 || index >= extent ? kNowhere : index;
}

int64_t element_place(const Problem& problem, int64_t axis, int64_t number) {
  const Extents &x = problem.input(0).extents, &updates = problem.input(2).extents;
  const std::vector<int64_t> strides = dense_strides(x, Layout::kRowMajor);
  const int64_t index = problem.input(1).constant->as_int64(number);
  const int64_t along = wrapped(index, x[static_cast<size_t>(axis)]);
  if (along == kNowhere) return kNowhere;
  int64_t place = along * strides[static_cast<size_t>(axis)];
  for (int i = static_cast<int>(x.size()) - 1; i >= 0; --i) {
    if (i != axis) place += number % updates[i] * strides[i];
    number /= updates[i];
  }
  return place;
}

/// The first of the slice's elements.
int64_t tuple_place(const Problem& problem, int64_t number) {
  const Extents& x = problem.input(0).extents;
  const std::vector<int64_t> strides = dense_strides(x, Layout::kRowMajor);
  const int64_t length = problem.input(1).extents.back();
  int64_t place = 0;
  for (int64_t i = 0; i < length; ++i) {
    const int64_t index = problem.input(1).constant->as_int64(number * length + i);
    const int64_t along = wrapped(index, x[static_cast<size_t>(i)]);
    if (along == kNowhere) return kNowhere;
    place += along * strides[static_cast<size_t>(i)];
  }
  return place;
}

}  // namespace

bool has_distinct_places(const Problem& problem) {
  constexpr int64_t kMost = 1 << 18;
  const Tensor* indices = problem.input(1).constant;
  if (indices == nullptr || !indices->defined() || indices->count() > kMost) return false;
  const auto* elements = problem.operation.as<ScatterElements>();
  const Extents& extents = problem.input(1).extents;
  const int64_t updates =
      elements != nullptr ? indices->count() : element_count({extents.begin(), extents.end() - 1});
  if (updates > kMost) return false;
  std::vector<int64_t> places;
  for (int64_t i = 0; i < updates; ++i) {
    const int64_t axis = elements == nullptr ? 0 : elements->axis;
    const int64_t place =
        elements == nullptr
            ? tuple_place(problem, i)
            : element_place(problem, axis < 0 ? axis + problem.input(0).rank() : axis, i);
    if (place != kNowhere) places.push_back(place);
  }
  std::sort(places.begin(), places.end());
  return std::adjacent_find(places.begin(), places.end()) == places.end();
}

}  // namespace tenon
