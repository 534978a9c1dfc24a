#pragma once

#include <array>
#include <climits>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status.h"
#include "device/device.h"
#include "ir/graph.h"
#include "ir/operation.h"
#include "kernels/algorithm.h"

namespace tenon {

class ConstantStore;

/// One operand of a problem: concrete extents and where its elements lie.
struct Operand {
  bool present = false;  ///< False for an absent optional input.
  DataType type = DataType::kFloat32;
  Extents extents;  ///< Logical order (NCHW for images), whatever the layout.
  Layout layout = Layout::kRowMajor;
  std::vector<int64_t> strides;      ///< In elements, logical order; empty: dense in `layout`.
  const Tensor* constant = nullptr;  ///< Contents (dense row-major), when known at build time.
  int64_t alignment = 256;           ///< The address is a multiple of this many bytes.
  /// Rows (last axis) are of like size, as far as the graph tells (ops/uniform_rows.h). Asked of a
  /// product's left operand alone, on the CPU.
  bool uniform_rows = false;

  bool dense() const { return strides.empty(); }
  int rank() const { return static_cast<int>(extents.size()); }
  int64_t count() const { return element_count(extents); }
};

/// Strides in elements of a dense tensor, in logical order.
std::vector<int64_t> dense_strides(const Extents& extents, Layout layout);

/// The application's error recorder and log, for plugins.
class Application {
 public:
  virtual ~Application() = default;
  /// Its nvinfer1::IErrorRecorder, as of now; null where it gave none.
  virtual void* error_recorder() const = 0;
  /// Passes on a warning.
  virtual void warn(const std::string& message) const = 0;
};

/// State that kernels of a node keep for as long as the context that runs them, whatever its
/// shapes. Not thread-safe.
class Attachments {
 public:
  /// Null at first.
  std::shared_ptr<void>& of(const Operation& operation) { return objects_[operation.identity()]; }

 private:
  std::map<const void*, std::shared_ptr<void>> objects_;
};

struct Tactic;

/// A kernel's problem: an operation, which may be a `fused` region (kernels/region.h gives anchor
/// and epilogue), with concrete operands and liberties with rounding, and the circumstances under
/// which kernels are made. select/problem_key.h says all of it that may decide between kernels.
struct Problem {
  Operation operation;
  std::vector<Operand> inputs, outputs;
  std::string_view layer;  ///< Its name, for messages.
  Device* device = nullptr;
  const Application* application = nullptr;  ///< Null: there is none.
  Attachments* attachments = nullptr;        ///< Null: kernels keep their state themselves.
  ConstantStore* constants = nullptr;        ///< GPU: gives memory; null: the device does.
  /// All tactics of the device, for kernels that are made of those of other operations.
  std::span<const Tactic> tactics;
  int threads = 1;      ///< CPU: threads a kernel may use.
  int isa_limit = 255;  ///< CPU: best of device/cpu/isa.h to use; 255: any.
  /// The result of Kernel::packed() of an earlier kernel of the same tactic, configuration and node
  /// on such a device; empty: not known. Constants whose contents were left out for it are present
  /// but not defined().
  std::span<const std::byte> packed;
  NumericsOptions numerics;
  /// GPU: bytes of shared memory that a block may take, with those that the driver keeps.
  int64_t shared_memory = INT64_MAX;
  /// GPU: bytes of operands that are no constants, under the largest shapes that the plan serves;
  /// 0: under these.
  int64_t most_bytes = 0;

  const Operand& input(int index) const { return inputs[index]; }
  const Operand& output(int index = 0) const { return outputs[index]; }
  bool has_input(int index) const {
    return index < static_cast<int>(inputs.size()) && inputs[index].present;
  }
};

/// Whether a limit holds for shared memory, which the kernels of libraries do not tell of.
bool limits_shared_memory(const Problem& problem);

/// Whether a kernel takes a problem, or the reason against it, which reports show.
struct Support {
  bool yes = true;
  std::string reason;
  static Support no(std::string why) { return {false, std::move(why)}; }
  /// Yes where a Result or a Status is ok, else no for its error's reason.
  template <class Outcome> static Support of(const Outcome& outcome) {
    return outcome.ok() ? Support{} : no(outcome.error().message);
  }
  explicit operator bool() const { return yes; }
};

/// How a kernel of a run goes through memory that caches hold in part.
struct Walk {
  bool backwards = false;   ///< From the end, where the kernel ahead has just been.
  uint32_t last_reads = 0;  ///< Bit i: nothing reads input i behind it.
};

/// Addresses for one launch. Absent inputs, and inputs that uses_input() declines, are null.
struct LaunchArguments {
  std::span<const void* const> inputs;
  std::span<void* const> outputs;
  void* workspace = nullptr;  ///< workspace_bytes() bytes, 256-byte aligned, contents undefined.
  Queue queue;
  /// Memory that later steps will read: for a kernel that leaves memory idle to prefetch into the
  /// caches.
  std::span<const std::byte> ahead;
  Walk walk = {};  ///< For a kernel that walks().
};

/// An executable for one Problem. Everything that can be done once (packing weights, compiling,
/// choosing blocks) was done by create(); run() neither allocates nor locks and may be called from
/// several threads at a time with different queues and workspaces.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Status run(const LaunchArguments& arguments) const = 0;
  virtual size_t workspace_bytes() const { return 0; }
  /// False for constants that the kernel keeps a packed copy of.
  virtual bool uses_input(int) const { return true; }
  /// Output `output` may use the memory of input `input` (same bytes, read before written element
  /// by element).
  virtual bool may_alias(int /*input*/, int /*output*/) const { return false; }
  /// The constants in the form that run() reads, empty where it reads them as they are. The form
  /// depends on constants, attributes, configuration and device alone, not on extents that vary.
  virtual std::span<const std::byte> packed() const { return {}; }
  /// True for constants whose contents packed() holds: a plan need not have them as well.
  virtual bool packs_input(int) const { return false; }
  /// Its first launch on a stream waits for the one ahead by itself, so that it may start earlier.
  virtual bool waits_for_previous() const { return false; }
  /// It follows LaunchArguments::walk.
  virtual bool walks() const { return false; }
  /// It may read this input before the launch ahead on the stream has ended: kernels of libraries
  /// start early, too, and wait for their first operand only.
  virtual bool reads_early(int /*input*/) const { return false; }
  /// The next launch on the same stream waits_for_previous(): its start need not wait for this
  /// kernel's end. Before the first run().
  virtual Status let_next_start() { return {}; }
  /// Bytes of constants that this kernel alone keeps, for reports and for caches of programs.
  virtual size_t owned_bytes() const { return 0; }
  /// Bytes of LaunchArguments::ahead that it can fetch while it computes.
  virtual size_t fetch_capacity() const { return 0; }
};

/// Where a tactic's kernels come from.
enum class TacticOrigin : uint8_t { kOwn, kCudnn, kCublasLt, kPlugin };
std::string_view name_of(TacticOrigin origin);
/// Libraries are opened at run time, and do not tell what their kernels use.
constexpr bool is_library(TacticOrigin origin) {
  return origin == TacticOrigin::kCudnn || origin == TacticOrigin::kCublasLt;
}

/// Whether a tactic is there for problems that no other one takes; it is not timed beside others.
enum class Fallback : uint8_t {
  kNo,
  kSlow,      ///< It takes anything of its operators.
  kAnything,  ///< It takes any operator, also without elements: the reference.
};

/// NVIDIA's GPUs by compute capability, 90 for 9.0.
struct Architectures {
  int least = 0, most = INT_MAX;
};
inline constexpr Architectures kFromAmpere{80}, kFromHopper{90};
/// For instructions of sm_90a, which later GPUs lack.
inline constexpr Architectures kHopperAlone{90, 90};

/// The columns of a tactic's row besides its name, version and functions.
struct TacticTraits {
  TacticOrigin origin = TacticOrigin::kOwn;
  Algorithm algorithm = Algorithm::kPlain;
  Fallback fallback = Fallback::kNo;
  Architectures architectures = {};  ///< GPU.
  /// Configurations come in the order of how fast they are expected to be, and take long to make:
  /// they are tried in stages (select/stages.h).
  bool staged = false;
  /// They are so in ranges alone, where other shapes keep the cores busy meanwhile.
  bool staged_in_ranges = false;
  /// What all configurations need is made with the first: it is tried alone.
  bool first_alone = false;
  /// Its kernels are planned for each shape anew, which takes many milliseconds: where shapes come
  /// while an application waits, others that fit are taken.
  bool planned_each = false;
  /// Tactics that are faster by far on every problem that both take: it is not tried beside them.
  std::array<std::string_view, 3> outdone_by = {};
  /// The same of problems whose f32 may not be rounded for tensor cores, wherever that row stands.
  std::string_view outdone_in_f32_by = {};
  /// A tactic beside which it seldom wins: it is tried for one problem of each operation first
  /// (select/pilots.h).
  std::string_view seldom_beside = {};
};

/// A way to compute a kind of problem on a kind of device: one row of a family's tactics.def.
struct Tactic {
  std::string_view name;  ///< "cpu.conv.winograd", as in plans, reports and switches.
  DeviceKind device;
  int version;  ///< Raised when results, speed or the form of packed() change: timing caches and
                ///< plans name it.
  Support (*takes)(const Problem& problem);  ///< Without a look at the columns: supports().
  /// Points of the search, as short texts ("mb=14,nb=32"); {""} where there is one.
  std::vector<std::string> (*configs)(const Problem& problem);
  Result<std::unique_ptr<Kernel>> (*create)(const Problem& problem, std::string_view config);
  TacticTraits traits = {};

  /// Whether its kernels take a problem, by the row and by the problem itself.
  Support supports(const Problem& problem) const;
};

/// For families without a search.
std::vector<std::string> single_config(const Problem& problem);

/// Result of a tactic's create().
template <class K, class... Arguments>
Result<std::unique_ptr<Kernel>> make_kernel(Arguments&&... arguments) {
  return std::unique_ptr<Kernel>(std::make_unique<K>(std::forward<Arguments>(arguments)...));
}

/// Rows are `TENON_TACTIC("cuda.conv.direct", kCuda, 1, cuda_direct)`, or TENON_SINGLE_TACTIC where
/// there is no search; the fourth word is a namespace in tenon::tactics with the functions supports
/// and create, and configs where there is a search. Columns of TacticTraits follow as `.staged =
/// true`. These declare the functions.
#define TENON_DECLARE_SINGLE_TACTIC(space)                                                 \
  namespace tactics::space {                                                               \
  Support supports(const Problem& problem);                                                \
  Result<std::unique_ptr<Kernel>> create(const Problem& problem, std::string_view config); \
  }
#define TENON_DECLARE_TACTIC(space)                         \
  TENON_DECLARE_SINGLE_TACTIC(space)                        \
  namespace tactics::space {                                \
  std::vector<std::string> configs(const Problem& problem); \
  }
/// The row in a table of Tactic.
#define TENON_TACTIC_ROW(name, device, version, space, configs, ...) \
  {name,                                                             \
   DeviceKind::device,                                               \
   version,                                                          \
   tactics::space::supports,                                         \
   configs,                                                          \
   tactics::space::create,                                           \
   TacticTraits{__VA_ARGS__}},

/// All tactics of the CPU, in order of preference: kernels/cpu_tactics.def lists the families'
/// tables.
std::span<const Tactic> cpu_tactics();
/// All tactics of NVIDIA GPUs, in libtenon_cuda alone: kernels/cuda_tactics.def.
std::span<const Tactic> cuda_tactics();

}  // namespace tenon
