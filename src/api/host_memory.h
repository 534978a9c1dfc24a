#pragma once

#include <cstddef>
#include <vector>

#include "surface/implementation.h"

namespace tenon::api {

/// IHostMemory that owns its bytes.
class HostMemory final : public surface::Implementation<nvinfer1::IHostMemory> {
 public:
  explicit HostMemory(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  void* data() const noexcept override { return const_cast<std::byte*>(bytes_.data()); }
  std::size_t size() const noexcept override { return bytes_.size(); }
  nvinfer1::DataType type() const noexcept override { return nvinfer1::DataType::kINT8; }

 private:
  std::vector<std::byte> bytes_;
};

}  // namespace tenon::api
