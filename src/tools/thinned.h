#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace tenon::tools {

/// Values of a run of any length in bounded memory: all of them, or, where they are too many, every
/// second, every fourth and so on, evenly over the whole run.
template <class T> class Thinned {
 public:
  explicit Thinned(size_t most) : most_(most) {}

  void add(const T& value) {
    if (count_++ % stride_ != 0) return;
    kept_.push_back(value);
    if (kept_.size() > most_) thin(2 * stride_);
  }
  /// Those of another run, behind these.
  void append(Thinned other) {
    const size_t stride = std::max(stride_, other.stride_);
    thin(stride);
    other.thin(stride);
    kept_.insert(kept_.end(), other.kept_.begin(), other.kept_.end());
    count_ += other.count_;
  }

  std::vector<T>& kept() { return kept_; }
  const std::vector<T>& kept() const { return kept_; }
  size_t count() const { return count_; }    ///< Of all that were added.
  size_t stride() const { return stride_; }  ///< One of so many is kept.

 private:
  void thin(size_t stride) {
    const size_t step = stride / std::exchange(stride_, stride);
    size_t size = 0;
    for (size_t i = 0; i < kept_.size(); i += step) kept_[size++] = kept_[i];
    kept_.resize(size);
  }

  size_t most_, count_ = 0, stride_ = 1;
  std::vector<T> kept_;
};

}  // namespace tenon::tools
