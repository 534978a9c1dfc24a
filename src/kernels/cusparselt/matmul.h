#pragma once

#include <memory>

#include "device/cuda/cusparselt.h"
#include "device/device.h"
#include "kernels/cublaslt/product.h"

namespace tenon::cusparselt {

/// cuSPARSELt on one device. Its handle may be used by several threads at a time.
struct Library {
  const cuda::CusparseLt* api = nullptr;
  cuda::SparseLtObject handle;

  Library() = default;
  Library(const Library&) = delete;
  ~Library();
};

/// The device's own, made on first use. The device must be an NVIDIA GPU.
Result<std::shared_ptr<const Library>> library_of(Device& device);

/// The library's plan of one product, whose weights lie as [n, k]. It computes the transposed
/// product, since biases go along its rows.
class Matmul {
 public:
  Matmul() = default;
  Matmul(const Matmul&) = delete;
  ~Matmul();

  /// `bias` is the address of a constant on the device, or null.
  static Result<std::unique_ptr<Matmul>> create(std::shared_ptr<const Library> library,
                                                const cublaslt::Product& product, int algorithm,
                                                const void* bias);
  /// Of the library's algorithms for the product.
  static Result<int> algorithms(const std::shared_ptr<const Library>& library,
                                const cublaslt::Product& product);

  /// Dense weights [n, k] on the device in the form that run() takes; waits for it.
  Result<DeviceBuffer> compress(Device& device, const void* dense, size_t& bytes) const;
  size_t workspace_bytes() const { return workspace_bytes_; }
  /// `c` is not read where the product has no such addend.
  Status run(const void* a, const void* weights, const void* c, void* d, void* workspace,
             CUstream_st* stream) const;

 private:
  Status describe(const cublaslt::Product& product, const void* bias);

  std::shared_ptr<const Library> library_;
  cuda::SparseLtObject weights_, x_, c_, d_, matmul_, selection_, plan_;
  int made_ = 0;  ///< Of the objects that have to be destroyed, in the order of their making.
  float alpha_ = 1, beta_ = 0;
  size_t workspace_bytes_ = 0;
};

}  // namespace tenon::cusparselt
