#include "kernels/movement/column_sums.h"

#include <algorithm>

#include "base/arithmetic.h"
#include "ir/tensor.h"

namespace tenon::cpu {
namespace {

/// The next place of the first `axes` axes; false behind the last one.
bool advance(std::vector<int64_t>& place, const std::vector<int64_t>& extents, size_t axes) {
  for (size_t i = axes; i-- > 0;) {
    if (++place[i] < extents[i]) return true;
    place[i] = 0;
  }
  return false;
}

void add_line(const float* from, int64_t count, int64_t step, float* to) {
  if (step == 1)
    for (int64_t i = 0; i < count; ++i) to[i] += from[i];
  else
    for (int64_t i = 0; i < count; ++i) to[i * step] += from[i];
}

}  // namespace

void ColumnSums::run(const float* columns, float* images, ThreadPool& pool) const {
  const int64_t size = element_count(image), matrix = element_count(block) * element_count(counts);
  pool.for_each(planes, 1, [&](int64_t plane) {
    std::fill_n(images + plane * size, size, 0.0f);
    add_plane(columns + plane * matrix, images + plane * size);
  });
}

void ColumnSums::add_plane(const float* columns, float* to) const {
  const int64_t positions = element_count(counts);
  std::vector<int64_t> element(block.size(), 0);
  do {
    add_lines(element, columns, to);
    columns += positions;
  } while (advance(element, block, block.size()));
}

/// One element of all blocks: lines of blocks along the last axis, as far as they meet the image.
void ColumnSums::add_lines(const std::vector<int64_t>& element, const float* columns,
                           float* to) const {
  const size_t last = image.size() - 1;
  const int64_t shift = element[last] * dilations[last] - pads[last], step = strides[last];
  const int64_t first = shift >= 0 ? 0 : ceil_div(-shift, step);
  const int64_t room = image[last] - shift;
  const int64_t end = room <= 0 ? 0 : std::min(counts[last], ceil_div(room, step));
  std::vector<int64_t> position(image.size(), 0);
  do {
    int64_t line = 0;
    bool inside = first < end;
    for (size_t i = 0; i < last; ++i) {
      const int64_t at = position[i] * strides[i] + element[i] * dilations[i] - pads[i];
      inside = inside && at >= 0 && at < image[i];
      line = line * image[i] + at;
    }
    if (inside)
      add_line(columns + first, end - first, step, to + line * image[last] + first * step + shift);
    columns += counts[last];
  } while (advance(position, counts, last));
}

}  // namespace tenon::cpu
