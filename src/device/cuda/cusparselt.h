#pragma once

#include <library_types.h>

#include <cstddef>
#include <cstdint>

#include "base/status.h"

struct CUstream_st;

namespace tenon::cuda {

/// One of the library's opaque objects, which refer to each other by address: larger than any
/// version's.
struct alignas(16) SparseLtObject {
  std::byte bytes[12288];
};

/// cuSPARSELt 0.8, products with two of each four weights zero, declared as its documentation has
/// it: no header of it is needed. Objects are the library's handles and descriptors.
struct CusparseLt {
  using Object = void*;
  using Seen = const void*;
  using Set = int (*)(Seen handle, Object object, int attribute, const void* data, size_t bytes);
  using Get = int (*)(Seen handle, Seen object, int attribute, void* data, size_t bytes);

  int (*cusparseLtInit)(Object handle) = nullptr;
  int (*cusparseLtDestroy)(Seen handle) = nullptr;
  int (*cusparseLtGetProperty)(libraryPropertyType property, int* value) = nullptr;
  const char* (*cusparseLtGetErrorString)(int status) = nullptr;
  int (*cusparseLtDenseDescriptorInit)(Seen handle, Object matrix, int64_t rows, int64_t columns,
                                       int64_t stride, uint32_t alignment, cudaDataType type,
                                       int order) = nullptr;
  int (*cusparseLtStructuredDescriptorInit)(Seen handle, Object matrix, int64_t rows,
                                            int64_t columns, int64_t stride, uint32_t alignment,
                                            cudaDataType type, int order, int sparsity) = nullptr;
  int (*cusparseLtMatDescriptorDestroy)(Seen matrix) = nullptr;
  int (*cusparseLtMatmulDescriptorInit)(Seen handle, Object matmul, int a, int b, Seen matrix_a,
                                        Seen matrix_b, Seen matrix_c, Seen matrix_d,
                                        int sums) = nullptr;
  Set cusparseLtMatmulDescSetAttribute = nullptr;
  int (*cusparseLtMatmulAlgSelectionInit)(Seen handle, Object selection, Seen matmul,
                                          int algorithm) = nullptr;
  int (*cusparseLtMatmulAlgSelectionDestroy)(Seen selection) = nullptr;
  Set cusparseLtMatmulAlgSetAttribute = nullptr;
  Get cusparseLtMatmulAlgGetAttribute = nullptr;
  int (*cusparseLtMatmulGetWorkspace)(Seen handle, Seen plan, size_t* bytes) = nullptr;
  int (*cusparseLtMatmulPlanInit)(Seen handle, Object plan, Seen matmul, Seen selection) = nullptr;
  int (*cusparseLtMatmulPlanDestroy)(Seen plan) = nullptr;
  int (*cusparseLtMatmul)(Seen handle, Seen plan, const void* alpha, const void* a, const void* b,
                          const void* beta, const void* c, void* d, void* workspace,
                          CUstream_st** streams, int32_t count) = nullptr;
  int (*cusparseLtSpMMACompressedSize)(Seen handle, Seen plan, size_t* bytes,
                                       size_t* buffer) = nullptr;
  int (*cusparseLtSpMMACompress)(Seen handle, Seen plan, const void* dense, void* compressed,
                                 void* buffer, CUstream_st* stream) = nullptr;

  // Numbers of its enumerations.
  static constexpr int kByColumns = 1, kByRows = 2;                    // Orders.
  static constexpr int kAsIs = 0, kTransposed = 1;                     // Operations.
  static constexpr int kSumsOfFloats = 2, kHalfSparse = 0;             // Sums, sparsity.
  static constexpr int kRelu = 0, kBias = 8;                           // Attributes of a product,
  static constexpr int kAlgorithm = 0, kAlgorithms = 1, kDefault = 0;  // of an algorithm.
};

/// Opened on first use. The error says where it was looked for.
Result<const CusparseLt*> load_cusparselt();

/// Nothing on success, else the error that a call's code stands for.
Status check_cusparselt(int code, const char* call);

/// `TENON_CUSPARSELT(lt, cusparseLtInit, handle);` with `lt` a CusparseLt: calls, and returns the
/// error from the enclosing function.
#define TENON_CUSPARSELT(table, name, ...) \
  TENON_TRY(::tenon::cuda::check_cusparselt((table).name(__VA_ARGS__), #name))

}  // namespace tenon::cuda
