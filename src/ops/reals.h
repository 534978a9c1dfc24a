#pragma once

#include <span>
#include <type_traits>
#include <vector>

#include "ir/element.h"
#include "ir/tensor.h"

namespace tenon {

/// The elements of a tensor as T: looks at them where they are T already, else holds a converted
/// copy. The tensor must outlive it.
template <class T> class Values {
 public:
  Values() = default;
  explicit Values(const Tensor& tensor) {
    const auto count = static_cast<size_t>(tensor.count());
    with_element(tensor.type(), [&](auto element) {
      using E = decltype(element);
      using Storage = typename E::Storage;
      if constexpr (std::is_same_v<T, typename E::Compute> && std::is_same_v<T, Storage>) {
        view_ = tensor.values<T>();
      } else {
        copy_.resize(count);
        const auto* from = reinterpret_cast<const Storage*>(tensor.bytes());
        for (size_t i = 0; i < count; ++i) copy_[i] = static_cast<T>(E::load(from[i]));
        view_ = copy_;
      }
    });
  }
  Values(const Values&) = delete;
  Values& operator=(const Values&) = delete;
  Values(Values&&) = default;
  Values& operator=(Values&&) = default;

  const T* data() const { return view_.data(); }
  T operator[](int64_t index) const { return view_[static_cast<size_t>(index)]; }
  int64_t size() const { return static_cast<int64_t>(view_.size()); }

 private:
  std::vector<T> copy_;
  std::span<const T> view_;
};

/// Stores values as the tensor's type, rounded to nearest even; to integers they are truncated and
/// saturated from real types, and wrap from integers.
template <class T> void store_values(std::span<const T> values, Tensor& tensor) {
  with_element(tensor.type(), [&](auto element) {
    using E = decltype(element);
    using Compute = typename E::Compute;
    auto* to = reinterpret_cast<typename E::Storage*>(tensor.mutable_bytes());
    for (size_t i = 0; i < values.size(); ++i) {
      if constexpr (std::is_integral_v<Compute> && std::is_floating_point_v<T>)
        to[i] = E::saturate(static_cast<double>(values[i]));
      else
        to[i] = E::store(static_cast<Compute>(values[i]));
    }
  });
}

/// A new tensor of these values.
template <class T>
Tensor tensor_of_values(DataType type, Extents extents, const std::vector<T>& values) {
  Tensor tensor(type, std::move(extents));
  store_values(std::span<const T>(values), tensor);
  return tensor;
}

/// f(T{}) with the type to compute a real tensor in: double for f64, else float.
template <class F> auto with_real(DataType type, F&& f) {
  return type == DataType::kFloat64 ? f(double{}) : f(float{});
}

}  // namespace tenon
