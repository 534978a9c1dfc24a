#pragma once

#include <span>
#include <utility>

#include "base/status.h"
#include "device/cuda/cudnn.h"

namespace tenon::cudnn {

using Api = cuda::Cudnn;

/// An Error for a call that did not succeed, with the library's message.
Error failure(const Api& api, std::string_view call, cudnnStatus_t status);

/// Attribute type that goes with a C++ type; the others are named at the call.
template <class T> constexpr cudnnBackendAttributeType_t attribute_type();
template <> constexpr cudnnBackendAttributeType_t attribute_type<int64_t>() {
  return CUDNN_TYPE_INT64;
}
template <> constexpr cudnnBackendAttributeType_t attribute_type<int32_t>() {
  return CUDNN_TYPE_INT32;
}
template <> constexpr cudnnBackendAttributeType_t attribute_type<float>() {
  return CUDNN_TYPE_FLOAT;
}
template <> constexpr cudnnBackendAttributeType_t attribute_type<double>() {
  return CUDNN_TYPE_DOUBLE;
}
template <> constexpr cudnnBackendAttributeType_t attribute_type<bool>() {
  return CUDNN_TYPE_BOOLEAN;
}
template <> constexpr cudnnBackendAttributeType_t attribute_type<void*>() {
  return CUDNN_TYPE_VOID_PTR;
}
template <> constexpr cudnnBackendAttributeType_t attribute_type<cudnnDataType_t>() {
  return CUDNN_TYPE_DATA_TYPE;
}

/// One descriptor of cuDNN's graph interface. The first failing call is kept and reported by
/// finalize(), so that a descriptor is filled without a check at every line.
class Descriptor {
 public:
  Descriptor() = default;
  Descriptor(const Api& api, cudnnBackendDescriptorType_t type);
  ~Descriptor() { reset(); }
  Descriptor(Descriptor&& other) noexcept { *this = std::move(other); }
  Descriptor& operator=(Descriptor&& other) noexcept;

  cudnnBackendDescriptor_t get() const { return descriptor_; }

  void set_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type, int64_t count,
               const void* values);
  template <class T> void set(cudnnBackendAttributeName_t name, const T& value) {
    set_raw(name, attribute_type<T>(), 1, &value);
  }
  template <class T> void set_all(cudnnBackendAttributeName_t name, std::span<const T> values) {
    set_raw(name, attribute_type<T>(), static_cast<int64_t>(values.size()), values.data());
  }
  void set_descriptor(cudnnBackendAttributeName_t name, const Descriptor& value);

  Status finalize();

  /// Reads up to `capacity` values; gives how many there are.
  Result<int64_t> get_raw(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                          int64_t capacity, void* values) const;
  Result<int64_t> get_int64(cudnnBackendAttributeName_t name) const;

 private:
  void reset();

  const Api* api_ = nullptr;
  cudnnBackendDescriptor_t descriptor_ = nullptr;
  Status state_;
};

}  // namespace tenon::cudnn
