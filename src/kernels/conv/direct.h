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
/// by the stride, so that no multiplication by zero is made; where channels are few, residues along
/// the lines are columns of one product. One that is dilated far is one product for every part of
/// the image that meets the same taps, so that few are made by padding.
class DirectConvolution {
 public:
  /// `weights` in ONNX order: output x input/groups x kernel, transposed: input x output/groups x
  /// kernel; null where they come with each run.
  static Result<DirectConvolution> prepare(const ConvProblem& problem, const void* weights);

  /// Whether tiles can multiply.
  static bool fits_tiles(const ConvProblem& problem);

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
    int64_t tasks_before = 0, staged_before = 0;  ///< Tasks and staged bytes of the phases ahead.
    size_t packed_offset = 0;  ///< of its weights, groups one after the other; parts share them
    size_t packed_each = 0;
    bool direct = false;  ///< A is the input itself.
  };

  void make_convolution(const Microkernels& kernels);
  bool make_parts(const Microkernels& kernels, const Gather& whole);
  void make_part(const Microkernels& kernels, const Gather& whole, const Segment& high,
                 const Segment& wide);
  void make_phases(const Microkernels& kernels);
  void make_phase(const Microkernels& kernels, const Spatial& residue);
  OutputLines lines_of(const Phase& phase, int64_t most_rows) const;
  bool merges_residues(const Microkernels& kernels) const;
  Gather base_gather(const Microkernels& kernels) const;
  Status pack(const Microkernels& kernels, const void* weights);
  int64_t panels() const;      ///< Of a group's weights, in each phase.
  int64_t pack_tasks() const;  ///< Panels of all weights.
  void pack_panel(int64_t task, const void* weights, float* dense, char* to) const;
  void pack_all(const void* weights, ThreadPool& pool, char* dense, char* to) const;
  size_t dense_bytes() const;  ///< of a panel's weights as a matrix
  int64_t tasks(const Phase& phase) const;
  size_t worker_bytes() const;
  size_t repeated_bytes() const;
  void repeat_operands(const ConvArguments& arguments, char* to, EpilogueOperand* operands) const;
  size_t staged_bytes() const;
  void stage(const void* input, ThreadPool& pool, char* to) const;
  void run_phases(const ConvArguments& arguments, const char* packed, ThreadPool& pool,
                  char* scratch) const;
  void run_task(const Phase& phase, const ConvArguments& arguments, const void* staged,
                const char* packed, int64_t task, void* scratch) const;
  int64_t output_pixel(const Phase& phase, int64_t line) const;

  ConvProblem problem_;
  GatherFunction gather_ = nullptr;
  std::vector<Phase> phases_;
  const Microkernels* kernels_ = nullptr;
  PackedWeights packed_;
  size_t packed_bytes_ = 0;
  bool shares_weights_ = false;  ///< All phases have those of the first.
  int64_t merged_ = 1;           ///< Neighbouring pixels that are columns of a product.
  /// Of each phase's weights, in the order of k, for each of the merged pixels; -1: none.
  std::vector<std::vector<Spatial>> taps_;
};

}  // namespace tenon::cpu
