#include "kernels/movement/picked_rows.h"

#include <algorithm>
#include <limits>

namespace tenon::cpu {
namespace {

/// Elements that are worth a task of their own.
constexpr int64_t kTaskElements = 8192;

/// Appends the parts of one vector: each begins at the least place that no other has.
void add_parts(std::span<const int64_t> places, std::vector<PickedPart>& parts) {
  uint32_t left = (1u << places.size()) - 1;
  while (left != 0) {
    PickedPart part;
    part.first = std::numeric_limits<int64_t>::max();
    for (size_t i = 0; i < places.size(); ++i)
      if ((left >> i & 1) != 0) part.first = std::min(part.first, places[i]);
    for (size_t i = 0; i < places.size(); ++i) {
      const int64_t at = places[i] - part.first;
      if ((left >> i & 1) == 0 || at >= kPickedLanes) continue;
      part.places[i] = static_cast<int32_t>(at);
      part.read = static_cast<uint16_t>(part.read | 1u << at);
      part.taken = static_cast<uint16_t>(part.taken | 1u << i);
    }
    left &= ~uint32_t{part.taken};
    parts.push_back(part);
  }
}

}  // namespace

std::optional<PickedRows> PickedRows::make(std::span<const int64_t> places, Isa isa) {
  constexpr PickFunction kNone = nullptr;
  PickedRows rows;
  rows.pick_ = TENON_BEST_OF_ISA(isa, kNone, kNone, pick_rows_avx512);
  if (rows.pick_ == nullptr) return std::nullopt;
  rows.columns_ = static_cast<int64_t>(places.size());
  for (size_t at = 0; at < places.size(); at += kPickedLanes) {
    add_parts(places.subspan(at, std::min<size_t>(kPickedLanes, places.size() - at)), rows.parts_);
    rows.ends_.push_back(rows.parts_.size());
  }
  return rows;
}

void PickedRows::run(const uint32_t* from, int64_t from_stride, uint32_t* to, int64_t to_stride,
                     int64_t rows, ThreadPool& pool) const {
  const int64_t each = std::max<int64_t>(1, kTaskElements / std::max<int64_t>(1, columns_));
  pool.parallel_for(rows, each, [&](int64_t begin, int64_t end, int) {
    size_t part = 0;
    for (size_t v = 0; v < ends_.size(); part = ends_[v++]) {
      const auto column = static_cast<int64_t>(v) * kPickedLanes;
      const PickedPiece piece{.parts = std::span(parts_).subspan(part, ends_[v] - part),
                              .from = from + begin * from_stride,
                              .to = to + begin * to_stride + column,
                              .rows = end - begin,
                              .from_stride = from_stride,
                              .to_stride = to_stride};
      pick_(piece, static_cast<int>(std::min<int64_t>(kPickedLanes, columns_ - column)));
    }
  });
}

}  // namespace tenon::cpu
