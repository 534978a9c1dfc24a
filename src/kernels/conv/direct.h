#pragma once

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/conv/gather.h"
#include "kernels/conv/problem.h"
#include "kernels/conv/segments.h"
#include "kernels/gemm/product.h"

namespace tenon::cpu {

/// Convolution of any kind as a matrix product: rows are output pixels, gathered block by block
/// into the cache. A transposed convolution is one product for every residue of the output position
/// by the stride, so that no multiplication by zero is made; one that is dilated far is one for
/// every part of the image that meets the same taps, so that few are made by padding.
class DirectConvolution {
 public:
  /// `weights` in ONNX order: output x input/groups x kernel, transposed: input x output/groups x
  /// kernel; null where they come with each run.
  static Result<DirectConvolution> prepare(const ConvProblem& problem, const void* weights);

  size_t scratch_bytes() const;
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t fetch_capacity() const;
  /// Needs `scratch` of scratch_bytes(), 64-byte aligned, and a pool of at most the problem's
  /// threads.
  void run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  /// One product: all output pixels, those of one residue, or those that meet the same taps.
  struct Phase {
    Gather gather;
    ProductPlan plan;
    int64_t lines = 1;   ///< Runs of output pixels at equal distances, plan.m each.
    Spatial first = {};  ///< first output position
    Spatial step = {1, 1, 1};
    size_t packed_offset = 0;  ///< of its weights, groups one after the other; parts share them
    size_t packed_each = 0;
    bool direct = false;  ///< A is the input itself.
  };

  void make_convolution(const Microkernels& kernels);
  bool make_parts(const Microkernels& kernels, const Gather& whole);
  void make_part(const Microkernels& kernels, const Gather& whole, const Segment& high,
                 const Segment& wide);
  void make_phases(const Microkernels& kernels);
  Gather base_gather(const Microkernels& kernels) const;
  Status pack(const Microkernels& kernels, const void* weights);
  void pack_group(size_t index, int64_t group, const void* weights, float* dense, char* to) const;
  void pack_all(const void* weights, ThreadPool& pool, char* dense, char* to) const;
  size_t dense_bytes() const;  ///< of one group's weights as a matrix
  int64_t tasks(const Phase& phase) const;
  void run_task(const Phase& phase, const ConvArguments& arguments, const void* staged,
                const char* packed, int64_t task, void* scratch) const;
  int64_t output_pixel(const Phase& phase, int64_t line) const;

  ConvProblem problem_;
  GatherFunction gather_ = nullptr;
  std::vector<Phase> phases_;
  const Microkernels* kernels_ = nullptr;
  PackedWeights packed_;
  size_t packed_bytes_ = 0;
  bool shares_weights_ = false;             ///< All phases have those of the first.
  std::vector<std::vector<Spatial>> taps_;  ///< of each phase's weights, in the order of k
};

}  // namespace tenon::cpu
