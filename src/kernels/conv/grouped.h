#pragma once

#include <vector>

#include "base/status.h"
#include "device/cpu/packed_weights.h"
#include "device/cpu/thread_pool.h"
#include "kernels/conv/problem.h"
#include "kernels/gemm/microkernel.h"

namespace tenon::cpu {

/// Some pixels of one output line times one panel of a group's weights. `tile.a` is the first
/// pixel's corner in a piece of the image, the next one lies tile.a_stride further; every run of
/// taps reads tile.k numbers at its offset from there. The panel is as wide as the kernel.
struct GroupedTile {
  Tile tile;
  const int64_t* offsets;
  int runs;
};

/// A piece of an image to copy: lines of pixels of so many channels, zero outside of the image.
struct GroupedPiece {
  const void* input;  ///< of the image's first channel that is wanted
  ElementType type;
  int64_t height, width, pixel_stride;  ///< of the image
  int64_t first_line, first_column, lines, columns, channels;
  float* to;

  bool is_inside() const {
    return first_line >= 0 && first_line + lines <= height && first_column >= 0 &&
           first_column + columns <= width;
  }
};

/// The kernels of one instruction set, by width of their panel, widest first.
struct GroupedFunctions {
  struct Width {
    int columns, max_rows;
    void (*run)(const GroupedTile& tile);
  };
  Width widths[3];
  int count;
  void (*copy)(const GroupedPiece& piece);
};
extern const GroupedFunctions kGroupedGeneric;
extern const GroupedFunctions kGroupedAvx2;
extern const GroupedFunctions kGroupedAvx512;

/// Convolution of a few channels, or of several groups of a few channels each, in float. A task
/// copies a piece of the image, of one or a few groups' channels, with its padding; products read
/// the pixels there, where a matrix of all windows would cost as much as the few products that each
/// number meets. Of one group, pieces without padding are read in the image. Groups of less than
/// half a vector are taken together, with zeros between them.
class GroupedConvolution {
 public:
  static bool fits(const ConvProblem& problem);
  /// Whether one group of so few channels, with windows that others would copy, may be faster.
  static bool pays_alone(const ConvProblem& problem);
  /// `weights` in ONNX order: output x input of a group x kernel.
  static Result<GroupedConvolution> prepare(const ConvProblem& problem, const void* weights);

  size_t scratch_bytes() const { return worker_bytes() * static_cast<size_t>(problem_.threads); }
  std::span<const std::byte> packed() const { return packed_.bytes(); }
  size_t fetch_capacity() const { return 0; }
  void run(const ConvArguments& arguments, ThreadPool& pool, void* scratch) const;

 private:
  /// Neighbouring output channels of a bundle of groups.
  struct Panel {
    int64_t first, columns;
    int width;       ///< index of the kernel
    int64_t offset;  ///< of its weights in those of the bundle, in floats
  };
  /// The work of one task.
  struct Place {
    int64_t image, line, column, bundle;
  };

  /// Pixels that products read, of the image itself or copied ones: distances in floats.
  struct Pixels {
    int64_t pixel = 0, line = 0, run = 0;
    std::vector<int64_t> offsets;  ///< of every run
  };

  void cut_panels();
  void choose_blocks();
  Pixels pixels_of(int64_t pixel, int64_t line) const;
  void find_offsets();
  Status pack(const void* weights);
  void pack_bundle(const void* weights, int64_t bundle, float* to) const;
  int64_t lines_of(int64_t lines) const;  // of the input
  int64_t columns_of(int64_t columns) const;
  int64_t bundle_inputs() const { return bundle_ * problem_.input_channels / problem_.groups; }
  int64_t bundle_outputs() const { return bundle_ * problem_.output_channels / problem_.groups; }
  int64_t bundles() const { return problem_.groups / bundle_; }
  /// Whether pieces without padding are read where they are.
  bool reads_image() const;
  int64_t piece_bytes(int64_t lines) const;
  int64_t tasks() const;
  size_t worker_bytes() const;
  Place place_of(int64_t task) const;
  GroupedPiece piece_of(const ConvArguments& arguments, const Place& place, float* to) const;
  void run_task(const ConvArguments& arguments, const Place& place, char* scratch) const;
  void run_bundle(const ConvArguments& arguments, const Place& place, const Pixels& source,
                  const float* first, float* sums) const;
  void run_line(const ConvArguments& arguments, const Place& place, const Panel& panel,
                GroupedTile grouped, float* sums) const;
  void finish(const ConvArguments& arguments, int64_t pixel, int64_t channel, GroupedTile& grouped,
              const GroupedFunctions::Width& width, float* sums) const;

  ConvProblem problem_;
  const GroupedFunctions* functions_ = nullptr;
  FinishFunction finish_ = nullptr;
  RegisterEpilogue registers_;
  int64_t bundle_ = 1;    ///< groups that are multiplied together
  int64_t together_ = 1;  ///< bundles of one task
  int64_t line_block_ = 1, column_block_ = 1;
  std::vector<Panel> panels_;  ///< of a bundle
  int64_t bundle_floats_ = 0;  ///< of its weights
  Pixels copied_, image_;
  PackedWeights packed_;
};

}  // namespace tenon::cpu
