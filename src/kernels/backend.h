#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/status.h"
#include "device/device.h"
#include "kernels/constant_store.h"
#include "kernels/sample_turns.h"
#include "kernels/sized.h"
#include "kernels/tactic.h"

namespace tenon {

/// The missing part, and advice: one sentence.
struct BackendNote {
  TacticOrigin origin;  ///< The tactics that are concerned.
  std::string text;
};

/// A library that takes long to get ready, which engines have done while they load, and builds
/// ahead of the first kernel.
struct LibraryStart {
  TacticOrigin origin;  ///< The tactics that use it; kOwn: in builds alone, which compile.
  Status (*start)(Device& device);
};

/// Messages that are told once, however many kernels and shapes they concern. Thread-safe.
class ToldOnce {
 public:
  bool is_new(const std::string& message) {
    const std::lock_guard lock(mutex_);
    return told_.insert(message).second;
  }

 private:
  std::mutex mutex_;
  std::set<std::string> told_;
};

/// The setting of plans whose builds were denied kernels of some origins: bar_origins() names.
inline constexpr const char* kBarredSetting = "barred_origins";

/// The tactic of nodes that move no data: their outputs lie inside their input's buffer, or
/// (concat) their inputs inside their output's.
inline constexpr std::string_view kViewTactic = "view";

/// Tactics of nodes under some shapes, in place of those that the nodes name.
using TacticTable = std::unordered_map<const Node*, std::string>;

/// A device together with the kernels that run on it.
struct Backend {
  std::shared_ptr<Device> device;
  std::span<const Tactic> tactics;
  /// Makes kernels for operators with data-dependent shapes of results; null: the host evaluates
  /// them.
  MakeSizedKernel make_sized = nullptr;
  /// Versions of libraries that no kernel needs, for people; null on the CPU.
  const std::string& (*other_libraries)() = nullptr;
  std::vector<BackendNote> notes = {};  ///< On the device's libraries.
  std::vector<LibraryStart> starts = {};
  MemorySource memory = {};            ///< The application's; empty: the device gives memory.
  ConstantStore* constants = nullptr;  ///< As Problem::constants.
  std::shared_ptr<const Application> application = {};  ///< Null: there is none.
  Attachments* attachments = nullptr;                   ///< As Problem::attachments.
  int64_t shared_memory = INT64_MAX;                    ///< As Problem::shared_memory.
  NumericsOptions numerics = {};                        ///< As Problem::numerics.
  SampleTurns turns = {.samples = 0};                   ///< Of programs (runtime/sample_steps.h).
  const TacticTable* tactics_here = nullptr;            ///< Null: all are those of the nodes.
  std::function<void(const std::string&)> tell = {};    ///< Takes verbose messages; empty: none.
  std::string barred = {};                              ///< As bar_origins() was given them.
  std::shared_ptr<const std::vector<Tactic>> rows =
      {};  ///< Those of `tactics`, where some are barred.
  std::shared_ptr<ToldOnce> substitutes = std::make_shared<ToldOnce>();

  /// What the node runs by.
  const std::string& tactic_of(const Node& node) const;
  /// The row of that name, or null.
  const Tactic* find(std::string_view name) const;
  /// The row of a tactic with its configuration ("cuda.gemm.lt{...}"), or null.
  const Tactic* row_of(std::string_view tactic) const;
  /// Where its kernels come from; names of no row are our own.
  TacticOrigin origin_of(std::string_view tactic) const;
  /// The row that takes anything.
  const Tactic& reference() const;
  Result<DeviceBuffer> allocate(size_t bytes) const {
    return memory ? memory(bytes) : device->allocate(bytes);
  }
};

/// "cpu.gemm.packed{mb=14}" to name and configuration, and back.
struct TacticText {
  std::string_view name, config;
};
TacticText split_tactic(std::string_view text);
std::string join_tactic(std::string_view name, std::string_view config);

/// Whether there is nothing to compute: no result has elements. Not where a plugin runs, which may
/// do something else as well.
bool is_empty(const Problem& problem);

/// Whether a tactic fits a problem. Only the reference is given empty ones.
Support fits(const Tactic& tactic, const Problem& problem);

/// A tactic's kernel; for an empty problem one that does nothing.
Result<std::unique_ptr<Kernel>> create_kernel(const Tactic& tactic, const Problem& problem,
                                              std::string_view config);

/// The kernel that a node names, made for a concrete problem. A tactic that the plan names but that
/// does not fit these extents gives way to the first one that does.
Result<std::unique_ptr<Kernel>> make_kernel(const Backend& backend, const Node& node,
                                            const Problem& problem);

/// Takes out the tactics and notes of origins, "cudnn,cublaslt": nothing that is built or run with
/// the backend comes from there.
Status bar_origins(Backend& backend, std::string_view names);

/// The processor; `threads` 0 means all that the process may use.
Backend cpu_backend(int threads = 0);
/// The same; fails where TENON_CPU_ISA names no instruction set.
Result<Backend> checked_cpu_backend(int threads);

/// A GPU (-1: the calling thread's current one, or the first), by libtenon_cuda, which lies beside
/// this library and stays open. Fails, with the reason, where there is no GPU, no driver or no
/// libtenon_cuda.
Result<Backend> cuda_backend(int ordinal = -1);
/// A GPU that is not there (device/described_device.h): for plans that are built by a timing cache.
Result<Backend> described_cuda_backend(const DeviceProperties& properties);
/// Either of them (the latter unless `described` is null), with libtenon_cuda's own tactics alone.
Result<Backend> open_cuda_library(int ordinal, const DeviceProperties* described);

}  // namespace tenon
