#include "kernels/cublaslt/library.h"

#include "device/cuda/cuda_device.h"
#include "device/cuda/process_end.h"
#include "device/described_device.h"
#include "kernels/cublaslt/matmul.h"

namespace tenon::cublaslt {

Library::~Library() {
  if (handle != nullptr && !cuda::process_is_ending()) api->cublasLtDestroy(handle);
}

Result<std::shared_ptr<const Library>> library_of(Device& device) {
  if (is_described(device)) return unsupported("{} is not here", device.properties().name);
  TENON_ASSIGN(auto library, static_cast<cuda::CudaDevice&>(device).attached<Library>(
                                 [&]() -> Result<std::shared_ptr<Library>> {
                                   auto made = std::make_shared<Library>();
                                   TENON_ASSIGN(made->api, cuda::load_cublaslt());
                                   TENON_TRY(device.activate());
                                   TENON_CUBLASLT(*made->api, cublasLtCreate, &made->handle);
                                   cuda::watch_process_end();
                                   return made;
                                 }));
  return std::shared_ptr<const Library>(library);
}

namespace {

/// A small one of the type that most products have.
Product any_product() {
  constexpr int64_t kSize = 64;
  const Matrix matrix{.type = DataType::kFloat16, .rows = kSize, .columns = kSize, .stride = kSize};
  Product product;
  product.m = product.n = product.k = kSize;
  product.a = product.b = product.c = product.d = matrix;
  return product;
}

}  // namespace

Status start(Device& device) {
  TENON_ASSIGN(const auto library, library_of(device));
  const Product product = any_product();
  TENON_ASSIGN(const Matmul matmul, Matmul::create(*library->api, product, false));
  // The first use of an algorithm has the library set up all of them: some 80 ms on an H200.
  const auto proposed = matmul.propose(library->handle, 0, 1);
  return proposed.ok() ? Status() : Status(proposed.error());
}

}  // namespace tenon::cublaslt
