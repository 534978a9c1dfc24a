#pragma once

#include <memory>
#include <vector>

#include "ir/graph.h"
#include "kernels/region.h"

namespace tenon::cublaslt {

/// Steps as a graph of their own, and the problem that its one node is.
struct TailProblem {
  Graph graph;
  Problem problem;
  std::vector<int> inputs;  ///< Of the whole problem, for each of the node's; -1: the product.
};
Result<std::unique_ptr<TailProblem>> tail_problem(const Problem& problem,
                                                  const AnchoredRegion& region, size_t first);

/// The steps of a region that the library has no epilogue for, as a pointwise kernel that works on
/// the result in place. The result is rounded to its type in between.
class Tail {
 public:
  /// Of the steps from `first` on; fails with the reason when no such kernel can be made.
  static Result<std::unique_ptr<Tail>> create(const Problem& problem, const AnchoredRegion& region,
                                              size_t first);
  /// Whether create() would find a kernel for them, or the problem's region ends ahead of them.
  static Status supports(const Problem& problem, size_t first);

  Status run(const LaunchArguments& arguments, void* workspace) const;
  size_t workspace_bytes() const { return kernel_->workspace_bytes(); }
  bool uses_input(int input) const;
  Status let_next_start() { return kernel_->let_next_start(); }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<int> inputs_;  ///< Of the problem, for each of the kernel's inputs; -1: the result.
};

}  // namespace tenon::cublaslt
