#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "surface/implementation.h"

namespace tenon::api {

/// IHostMemory that owns its bytes.
class HostMemory final : public surface::Implementation<nvinfer1::IHostMemory> {
 public:
  /// A contiguous container of std::byte.
  template <typename Bytes = std::vector<std::byte>> explicit HostMemory(Bytes bytes) {
    const auto held = std::make_shared<Bytes>(std::move(bytes));
    bytes_ = *held;
    owner_ = held;
  }
  void* data() const noexcept override { return bytes_.data(); }
  std::size_t size() const noexcept override { return bytes_.size(); }
  nvinfer1::DataType type() const noexcept override { return nvinfer1::DataType::kINT8; }

 private:
  std::shared_ptr<void> owner_;
  std::span<std::byte> bytes_;
};

}  // namespace tenon::api
