#pragma once

#include <string>
#include <vector>

#include "device/cuda/cublaslt.h"
#include "kernels/cublaslt/product.h"

namespace tenon::cublaslt {

using Api = cuda::CublasLt;

/// An algorithm of the library for one product, as data: the settings of `cublasLtMatmulAlgo_t`
/// that its heuristics choose.
struct Algorithm {
  bool transposed_weights = false;  ///< The constant B is kept as [n, k].
  bool padded = false;              ///< With columns added to the product.
  cublasLtMatmulAlgo_t algorithm{};
  size_t workspace_bytes = 0;
};

/// "w=t,id=66,tile=20,..." and back. Reading checks that this library runs the algorithm.
std::string to_text(const Api& api, const Algorithm& algorithm);

/// The library's description of a product. The library's matrices are column-major, so it computes
/// the transposed product: its A is our B.
class Matmul {
 public:
  /// `transposed_weights` describes B as dense [n, k], whatever the product says of it.
  static Result<Matmul> create(const Api& api, const Product& product, bool transposed_weights);

  /// In the order of the library's estimates, fastest first, deterministic algorithms only.
  Result<std::vector<Algorithm>> propose(cublasLtHandle_t handle, size_t workspace_limit,
                                         int count) const;
  Result<Algorithm> from_text(cublasLtHandle_t handle, std::string_view text) const;

  struct Addresses {
    const void *a, *b, *c, *bias;
    void *d, *workspace;
  };
  Status run(cublasLtHandle_t handle, const Algorithm& algorithm, const Addresses& addresses,
             cudaStream_t stream) const;

 private:
  Result<cublasLtMatrixLayoutOpaque_t> layout(const Matrix& matrix) const;
  Status describe_operation();

  const Api* api_ = nullptr;
  Product product_;
  bool transposed_weights_ = false;
  cublasComputeType_t compute_ = CUBLAS_COMPUTE_32F;
  cublasLtEpilogue_t epilogue_ = CUBLASLT_EPILOGUE_DEFAULT;
  cublasLtMatmulDescOpaque_t operation_{};  ///< Copied for each launch, which sets the bias.
  cublasLtMatrixLayoutOpaque_t a_{}, b_{}, c_{}, d_{};
};

}  // namespace tenon::cublaslt
