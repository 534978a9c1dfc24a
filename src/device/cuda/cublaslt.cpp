#include "device/cuda/cublaslt.h"

#include "device/cuda/shared_library.h"

namespace tenon::cuda {
namespace {

constexpr char kRemedy[] =
    "install cuBLAS 12 or 13 (on PyPI: nvidia-cublas), or name the folder above its lib in "
    "TENON_CUDA_PATH; without it our own kernels compute";

Result<CublasLt> open_cublaslt() {
  TENON_ASSIGN(
      const SharedLibrary library,
      SharedLibrary::open("cuBLASLt", {"libcublasLt.so.13", "libcublasLt.so.12"}, kRemedy));
  CublasLt table;
#define TENON_FUNCTION(name) TENON_CUDA_LOAD(library, table, name)
#include "device/cuda/cublaslt.def"
  table.version = std::to_string(table.cublasLtGetVersion());
  return table;
}

const Result<CublasLt>& opened() {
  return opened_once<open_cublaslt>();
}

}  // namespace

Result<const CublasLt*> load_cublaslt() {
  return address_of(opened());
}

Status check_cublaslt(cublasStatus_t code, const char* call) {
  if (code == CUBLAS_STATUS_SUCCESS) return {};
  return resource_error("{}: {}", call, opened()->cublasLtGetStatusString(code));
}

}  // namespace tenon::cuda
