#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernels/jit/kernel_code.h"
#include "kernels/tactic.h"

namespace tenon {

/// One argument of a device function: the address of an operand or of a part of the workspace.
struct JitArgument {
  enum class Kind {
    kInput,
    kOutput,
    kWorkspace,
    kConstant,
    kNumber,
    kMap,
    kNull,
    kWalk  ///< How the launch goes through memory: `walk` of jit/hopper.cuh.
  } kind = Kind::kInput;
  int index = 0;       ///< Of the input, output, constant or the launch's tensor map.
  int64_t offset = 0;  ///< In bytes; the number itself of a kNumber, which is an i64.

  bool operator==(const JitArgument&) const = default;
  static JitArgument input(int index) { return {Kind::kInput, index}; }
  static JitArgument output(int index = 0) { return {Kind::kOutput, index}; }
  static JitArgument constant(int index) { return {Kind::kConstant, index}; }
  static JitArgument map(int index) { return {Kind::kMap, index}; }
  static JitArgument number(int64_t value) { return {Kind::kNumber, 0, value}; }
  static JitArgument null() { return {Kind::kNull}; }
  static JitArgument walk() { return {Kind::kWalk}; }
  static JitArgument workspace(int64_t offset) { return {Kind::kWorkspace, 0, offset}; }
};

/// A tensor of 16-bit or 8-bit elements as Hopper's TMA is told of it: fastest axis first,
/// boxes whose rows of 128 or 64 bytes are swizzled.
struct JitTensorMap {
  JitArgument base;
  DataType type = DataType::kFloat16;
  std::vector<int64_t> extents, strides;  ///< Strides in elements; the first one is 1.
  std::vector<int> box;
  /// Where boxes are pixels of [channels, x, y, images] that a convolution's tap sees (box:
  /// channels and pixels): how many there are along x and y, the first tap's first place, and the
  /// steps.
  struct Pixels {
    int64_t count[2] = {1, 1}, begin[2] = {0, 0}, step[2] = {1, 1};
    bool operator==(const Pixels&) const = default;
    /// From the image's last place to the first tap's last one.
    int64_t upper(const JitTensorMap& map, size_t axis) const {
      return begin[axis] + (count[axis] - 1) * step[axis] - (map.extents[axis + 1] - 1);
    }
  };
  std::optional<Pixels> pixels;
  int row_bytes = 128;  ///< Of a box along the fastest axis: 128 or 64.
  bool operator==(const JitTensorMap&) const = default;
};

/// Why TMA does not take the map; ok where it does.
Status check_map(const JitTensorMap& map, int64_t alignment);

/// One launch of `extern "C" __global__ void kernel(...)` of a source.
struct JitLaunch {
  std::string name;  ///< "rows/softmax.cu", for messages.
  SourceText source;
  std::vector<std::string> options;
  OpenSource open;  ///< The same for other extents, too.
  int64_t grid[3] = {1, 1, 1};
  int block[3] = {128, 1, 1};
  int shared_bytes = 0;  ///< Dynamic.
  int cluster = 0;       ///< Blocks of a cluster (sm_90); 0: none.
  bool cooperative =
      false;  ///< Blocks wait for each other: all run at a time, or the launch fails.
  std::vector<JitArgument> arguments;
  std::vector<JitTensorMap> maps;  ///< Of arguments that are maps: `const __grid_constant__`.
  /// Begins with begin_kernel() of the prelude: may start while the one before ends.
  bool overlaps = true;
  /// The launch ahead may let it start before its own end. Blocks that start early are put wherever
  /// there is room, two on one multiprocessor and none on another: wrong for convolutions, which
  /// have about one a multiprocessor.
  bool starts_early = true;
  /// Bytes to set to zero before the launch (a part of the workspace or an output).
  JitArgument zeroed;
  int64_t zeroed_bytes = 0;

  void add(JitArgument argument) { arguments.push_back(argument); }
  void add(std::initializer_list<JitArgument> more) { arguments.insert(arguments.end(), more); }
  void add_inputs(const std::vector<int>& inputs) {
    for (const int input : inputs) add(JitArgument::input(input));
  }
};

/// Bytes of a constant that a kernel keeps on the device: weights in another order.
struct JitConstant {
  using Make = std::function<std::vector<std::byte>()>;
  Make make;
  /// All that they follow from besides `recipe`, the text of which says how. Without, they are made
  /// again for every kernel, to be compared with those that are there.
  Tensor source = {};
  std::string recipe = {};

  template <class Function>
  requires std::convertible_to<Function, Make> JitConstant(Function function)
      : make(std::move(function)) {}
  JitConstant(Make function, Tensor from, std::string how)
      : make(std::move(function)), source(std::move(from)), recipe(std::move(how)) {}
};

/// All that a kernel of ours does for one problem: plain data, made without a GPU.
struct JitPlan {
  std::vector<JitLaunch> launches;
  int64_t workspace_bytes = 0;
  std::vector<JitConstant> constants;
  std::vector<std::pair<int, int>> aliases;  ///< (input, output) that may share memory.
};

/// A plan of one launch.
inline JitPlan plan_of(JitLaunch launch) {
  JitPlan plan;
  plan.launches.push_back(std::move(launch));
  return plan;
}

/// Parts of a tactic of our own kernels: plans, or the reason why not.
using JitPlanner = Result<JitPlan> (*)(const Problem& problem, std::string_view config);

/// The GPU that the problem's kernel is for, which may be described alone.
inline const DeviceProperties& gpu_of(const Problem& problem) {
  return problem.device->properties();
}
inline int capability_of(const Problem& problem) {
  return gpu_of(problem).compute_capability;
}
inline int multiprocessors(const Problem& problem) {
  return gpu_of(problem).compute_units;
}

/// Bytes of shared memory that a block may have on the problem's device.
int64_t shared_limit(const Problem& problem);
/// Those that the problem's limit leaves it of them.
int64_t allowed_shared(const Problem& problem);
/// Fails where a launch takes more than that, dynamic and static.
Status check_shared(const Problem& problem, std::string_view name, int64_t bytes);

/// Launches that a GPU refuses: too many blocks along an axis, too many threads or too much shared
/// memory of one.
Status check_launches(const Problem& problem, const JitPlan& plan);

/// Blocks for `count` pieces of work.
inline int64_t blocks_for(int64_t count, int64_t each) {
  return (count + each - 1) / each;
}

/// The smallest power of 2 not below `value`.
inline int64_t power_above(int64_t value) {
  int64_t power = 1;
  while (power < value) power *= 2;
  return power;
}

/// The launch's sources and options: the code, ending in the given files of src/kernels.
Status set_source(JitLaunch& launch, const KernelCode& code,
                  std::initializer_list<std::string_view> files);
/// A launch of that source along one axis of blocks and one of threads.
Result<JitLaunch> make_launch(const KernelCode& code, std::initializer_list<std::string_view> files,
                              int64_t blocks, int64_t threads);

/// Whether code for all extents is for those of all axes (device/open_extents.h).
bool all_axes_are_open(const Problem& problem);

/// Code with its first constant: `Index`, wide enough for all operands.
KernelCode begin_code(const Problem& problem);

/// The number behind `name=` in a configuration such as "group=32,vector=8".
std::optional<int64_t> config_number(std::string_view config, std::string_view name);

}  // namespace tenon
