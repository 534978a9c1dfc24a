#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace tenon {

/// Kernels of one node for the extents that it ran with most recently, for runs whose extents data
/// decides. K is Kernel or SizedKernel.
template <class K> class KeptKernels {
 public:
  /// A loop that appends one element at a time comes back to as many extents in each run; kernels
  /// with packed weights of their own are kept for a few.
  static constexpr size_t kMost = 128, kFew = 4;
  static constexpr size_t kMostBytes = size_t{64} << 20;

  /// Null where there is none.
  K* find(const std::string& key) {
    const auto found = std::find_if(kernels_.begin(), kernels_.end(),
                                    [&](const Kept& kept) { return kept.key == key; });
    if (found == kernels_.end()) return nullptr;
    std::rotate(found, found + 1, kernels_.end());
    return kernels_.back().kernel.get();
  }
  /// `bytes` are those that the kernel owns.
  K* add(std::string key, std::unique_ptr<K> kernel, size_t bytes = 0) {
    kernels_.push_back({std::move(key), std::move(kernel), bytes});
    bytes_ += bytes;
    return kernels_.back().kernel.get();
  }
  bool has_too_many() const {
    return kernels_.size() > kMost || (kernels_.size() > kFew && bytes_ > kMostBytes);
  }
  /// Ends kernels above the limit. None of them may still run.
  void drop_oldest() {
    while (has_too_many()) {
      bytes_ -= kernels_.front().bytes;
      kernels_.erase(kernels_.begin());
    }
  }
  size_t size() const { return kernels_.size(); }

 private:
  struct Kept {
    std::string key;
    std::unique_ptr<K> kernel;
    size_t bytes;
  };
  std::vector<Kept> kernels_;  ///< Most recently used last.
  size_t bytes_ = 0;
};

}  // namespace tenon
