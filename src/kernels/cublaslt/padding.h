#pragma once

#include "kernels/cublaslt/product.h"
#include "kernels/cuda/contract.h"

namespace tenon::cublaslt {

/// Whether a product with an odd number of columns may be computed with more of them: rows of the
/// result that start anywhere shut out the fast kernels.
bool can_pad(const Product& product);

/// The product with its columns rounded up; its result is dense.
Product padded(const Product& product);

/// Constant weights [n, k] or a bias [n] with rows of zeros added.
Tensor padded_rows(const Tensor& tensor, int64_t rows);

/// Copies the padded result to where it belongs.
class Unpadder {
 public:
  static Result<std::unique_ptr<Unpadder>> create(const Problem& problem, const Product& product,
                                                  const Product& padded);

  /// Of the padded result, a multiple of 256.
  size_t bytes() const { return bytes_; }
  Status run(const void* padded, void* dense, Queue queue) const;

 private:
  std::shared_ptr<const cuda::Module> module_;
  cuda::Function function_;
  unsigned blocks_ = 0;
  int64_t count_ = 0;
  size_t bytes_ = 0;
};

}  // namespace tenon::cublaslt
