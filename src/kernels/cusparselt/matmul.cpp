#include "kernels/cusparselt/matmul.h"

#include <algorithm>

#include "device/cuda/cuda_device.h"
#include "device/cuda/process_end.h"
#include "device/described_device.h"

namespace tenon::cusparselt {
namespace {

using Api = cuda::CusparseLt;

constexpr uint32_t kAlignment = 16;  // Of every address, in bytes.

cudaDataType type_of(const cublaslt::Matrix& matrix) {
  return matrix.type == DataType::kFloat16 ? CUDA_R_16F : CUDA_R_16BF;
}

}  // namespace

Library::~Library() {
  if (api != nullptr && !cuda::process_is_ending()) api->cusparseLtDestroy(&handle);
}

Result<std::shared_ptr<const Library>> library_of(Device& device) {
  if (is_described(device)) return unsupported("{} is not here", device.properties().name);
  TENON_TRY(device.activate());
  TENON_ASSIGN(auto library, static_cast<cuda::CudaDevice&>(device).attached<Library>(
                                 [&]() -> Result<std::shared_ptr<Library>> {
                                   auto made = std::make_shared<Library>();
                                   TENON_ASSIGN(const Api* const api, cuda::load_cusparselt());
                                   TENON_CUSPARSELT(*api, cusparseLtInit, &made->handle);
                                   made->api = api;
                                   cuda::watch_process_end();
                                   return made;
                                 }));
  return std::shared_ptr<const Library>(library);
}

Matmul::~Matmul() {
  if (library_ == nullptr || cuda::process_is_ending()) return;
  const Api& api = *library_->api;
  if (made_ > 5) api.cusparseLtMatmulPlanDestroy(&plan_);
  if (made_ > 4) api.cusparseLtMatmulAlgSelectionDestroy(&selection_);
  cuda::SparseLtObject* const matrices[] = {&weights_, &x_, &c_, &d_};
  for (int i = 0; i < std::min(made_, 4); ++i) api.cusparseLtMatDescriptorDestroy(matrices[i]);
}

Status Matmul::describe(const cublaslt::Product& p, const void* bias) {
  const Api& api = *library_->api;
  const void* const handle = &library_->handle;
  TENON_CUSPARSELT(api, cusparseLtStructuredDescriptorInit, handle, &weights_, p.n, p.k, p.k,
                   kAlignment, type_of(p.b), Api::kByRows, Api::kHalfSparse);
  made_ = 1;
  TENON_CUSPARSELT(api, cusparseLtDenseDescriptorInit, handle, &x_, p.m, p.k, p.a.stride,
                   kAlignment, type_of(p.a), Api::kByRows);
  made_ = 2;
  const cublaslt::Matrix& c = p.c_input >= 0 ? p.c : p.d;
  TENON_CUSPARSELT(api, cusparseLtDenseDescriptorInit, handle, &c_, p.n, p.m, c.stride, kAlignment,
                   type_of(p.d), Api::kByColumns);
  made_ = 3;
  TENON_CUSPARSELT(api, cusparseLtDenseDescriptorInit, handle, &d_, p.n, p.m, p.d.stride,
                   kAlignment, type_of(p.d), Api::kByColumns);
  made_ = 4;
  TENON_CUSPARSELT(api, cusparseLtMatmulDescriptorInit, handle, &matmul_, Api::kAsIs,
                   Api::kTransposed, &weights_, &x_, &c_, &d_, Api::kSumsOfFloats);
  if (bias != nullptr)
    TENON_CUSPARSELT(api, cusparseLtMatmulDescSetAttribute, handle, &matmul_, Api::kBias, &bias,
                     sizeof bias);
  const int yes = 1;
  if (p.activation == cublaslt::Activation::kRelu)
    TENON_CUSPARSELT(api, cusparseLtMatmulDescSetAttribute, handle, &matmul_, Api::kRelu, &yes,
                     sizeof yes);
  TENON_CUSPARSELT(api, cusparseLtMatmulAlgSelectionInit, handle, &selection_, &matmul_,
                   Api::kDefault);
  made_ = 5;
  alpha_ = p.alpha, beta_ = p.c_input >= 0 ? 1.0f : 0.0f;
  return {};
}

Result<std::unique_ptr<Matmul>> Matmul::create(std::shared_ptr<const Library> library,
                                               const cublaslt::Product& product, int algorithm,
                                               const void* bias) {
  auto made = std::make_unique<Matmul>();
  made->library_ = std::move(library);
  const Api& api = *made->library_->api;
  const void* const handle = &made->library_->handle;
  TENON_TRY(made->describe(product, bias));
  TENON_CUSPARSELT(api, cusparseLtMatmulAlgSetAttribute, handle, &made->selection_, Api::kAlgorithm,
                   &algorithm, sizeof algorithm);
  TENON_CUSPARSELT(api, cusparseLtMatmulPlanInit, handle, &made->plan_, &made->matmul_,
                   &made->selection_);
  made->made_ = 6;
  TENON_CUSPARSELT(api, cusparseLtMatmulGetWorkspace, handle, &made->plan_,
                   &made->workspace_bytes_);
  return made;
}

Result<int> Matmul::algorithms(const std::shared_ptr<const Library>& library,
                               const cublaslt::Product& product) {
  Matmul matmul;
  matmul.library_ = library;
  TENON_TRY(matmul.describe(product, nullptr));
  int count = 0;
  TENON_CUSPARSELT(*library->api, cusparseLtMatmulAlgGetAttribute, &library->handle,
                   &matmul.selection_, Api::kAlgorithms, &count, sizeof count);
  return count;
}

Result<DeviceBuffer> Matmul::compress(Device& device, const void* dense, size_t& bytes) const {
  const Api& api = *library_->api;
  size_t scratch_bytes = 0;
  TENON_CUSPARSELT(api, cusparseLtSpMMACompressedSize, &library_->handle, &plan_, &bytes,
                   &scratch_bytes);
  TENON_ASSIGN(DeviceBuffer compressed, device.allocate(bytes));
  DeviceBuffer scratch;
  if (scratch_bytes > 0) {
    TENON_ASSIGN(scratch, device.allocate(scratch_bytes));
  }
  TENON_CUSPARSELT(api, cusparseLtSpMMACompress, &library_->handle, &plan_, dense, compressed.get(),
                   scratch.get(), nullptr);
  TENON_TRY(device.synchronize({}));
  return compressed;
}

Status Matmul::run(const void* a, const void* weights, const void* c, void* d, void* workspace,
                   CUstream_st* stream) const {
  TENON_CUSPARSELT(*library_->api, cusparseLtMatmul, &library_->handle, &plan_, &alpha_, weights, a,
                   &beta_, c != nullptr ? c : d, d, workspace, &stream, 1);
  return {};
}

}  // namespace tenon::cusparselt
