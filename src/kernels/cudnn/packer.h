#pragma once

#include "kernels/cuda/contract.h"
#include "kernels/cudnn/convolution.h"

namespace tenon::cudnn {

/// Makes the packed input of a convolution, padding included.
class Packer {
 public:
  /// From the input of `whole` to that of `packed`.
  static Result<std::unique_ptr<Packer>> create(const Problem& problem, const Convolution& whole,
                                                const Convolution& packed, const Packing& packing);

  /// Of the packed input, a multiple of 256.
  size_t bytes() const { return bytes_; }
  Status run(const void* x, void* packed, Queue queue) const;

 private:
  std::shared_ptr<const cuda::Module> module_;
  cuda::Function function_;
  unsigned blocks_ = 0;
  int64_t images_ = 0;
  size_t bytes_ = 0;
};

}  // namespace tenon::cudnn
