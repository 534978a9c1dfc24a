#include "kernels/movement/mapped_copy.h"

#include <algorithm>
#include <cstring>

#include "kernels/movement/words.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kFill = MappedAxis::kFill;
constexpr int64_t kTaskBytes = 32768;

}  // namespace

MappedCopy::MappedCopy(std::vector<MappedAxis> axes, int bytes)
    : axes_(std::move(axes)), bytes_(bytes) {
  // Axes of extent 1 never step: any place among the others will do.
  const auto step = [](const MappedAxis& axis) {
    return axis.from.size() == 1 ? INT64_MAX : axis.to;
  };
  std::stable_sort(axes_.begin(), axes_.end(),
                   [&](const MappedAxis& a, const MappedAxis& b) { return step(a) > step(b); });
  if (axes_.empty()) axes_.push_back({1, {0}});
  const MappedAxis last = std::move(axes_.back());
  axes_.pop_back();
  last_ = last.to;
  row_elements_ = static_cast<int64_t>(last.from.size());
  for (int64_t i = 0; i < row_elements_; ++i) {
    const int64_t from = last.from[i];
    if (!pieces_.empty()) {
      Piece& piece = pieces_.back();
      const bool both_fill = piece.from == kFill && from == kFill;
      const bool follows = piece.from != kFill && from != kFill &&
                           (piece.count == 1 || from == piece.from + piece.count * piece.step);
      if (follows && piece.count == 1) piece.step = from - piece.from;
      if (both_fill || follows) {
        ++piece.count;
        continue;
      }
    }
    pieces_.push_back({i, 1, from, 0});
  }
}

template <class T>
void MappedCopy::row(const T* source, T fill, T* destination, int64_t index) const {
  int64_t from = 0;
  bool outside = false;
  for (size_t a = axes_.size(); a-- > 0;) {
    const auto extent = static_cast<int64_t>(axes_[a].from.size());
    const int64_t place = axes_[a].from[index % extent];
    destination += index % extent * axes_[a].to;
    index /= extent;
    outside |= place == kFill;
    from += place == kFill ? 0 : place;
  }
  for (const Piece& piece : pieces_) {
    T* to = destination + piece.at * last_;
    if (outside || piece.from == kFill) {
      for (int64_t i = 0; i < piece.count; ++i) to[i * last_] = fill;
    } else if (last_ == 1 && (piece.step == 1 || piece.count == 1)) {
      std::memcpy(to, source + from + piece.from, static_cast<size_t>(piece.count) * sizeof(T));
    } else {
      for (int64_t i = 0; i < piece.count; ++i)
        to[i * last_] = source[from + piece.from + i * piece.step];
    }
  }
}

template <class T>
void MappedCopy::rows(const void* source, const void* fill, void* destination,
                      ThreadPool& pool) const {
  int64_t count = 1;
  for (const MappedAxis& axis : axes_) count *= static_cast<int64_t>(axis.from.size());
  T value{};
  if (fill != nullptr) std::memcpy(&value, fill, sizeof(T));
  const int64_t grain = std::max<int64_t>(1, kTaskBytes / (row_elements_ * bytes_));
  pool.for_each(count, grain, [&](int64_t i) {
    row(static_cast<const T*>(source), value, static_cast<T*>(destination), i);
  });
}

void MappedCopy::run(const void* source, const void* fill, void* destination,
                     ThreadPool& pool) const {
  with_word(bytes_, [&]<class T>(T) { rows<T>(source, fill, destination, pool); });
}

}  // namespace tenon::cpu
