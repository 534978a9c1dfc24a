#pragma once

/// How far a build is, how long it will still take, and how long it may take.

#include "NvInfer.h"

namespace tenon {

/// The steps of a build behind the model's parsing, in the order of their ends. A step may be
/// empty: kernels are tuned in sequence on GPUs only, and the check may be switched off.
enum class BuildStep : int32_t {
  /// Optimization passes over the graph.
  kOPTIMIZE = 0,
  /// Candidate kernels are made and timed.
  kCHOOSE = 1,
  /// Kernels are tuned in the sequence that they will run in.
  kSEQUENCE = 2,
  /// The plan is compared with the reference, which builds for the CPU without a budget evaluate
  /// before they time candidates.
  kCHECK = 3,
  /// Weights are packed and the plan is written.
  kWRITE = 4,
};
inline constexpr int32_t kBuildSteps = 5;

/// Progress of a build.
struct BuildState {
  BuildStep step;
  double done;       ///< Share of the whole build; never falls, and is below 1.
  double elapsed;    ///< Seconds since it began.
  double remaining;  ///< Seconds that it is expected to take still; negative: not known yet.
  /// The seconds of each step that were added up for it; 0 of those that have ended.
  double left[kBuildSteps];
};

/// Follows builds: is called by one thread at a time, but not always the same.
class IBuildObserver {
 public:
  virtual ~IBuildObserver() noexcept = default;
  /// Takes the progress of the build, at least once a second. `state` is valid during the call
  /// only.
  virtual void progress(const BuildState& state) noexcept = 0;
  /// Tells that a step has ended after so many seconds; `facts` says in a few words its findings
  /// ("58 layers, 211 candidates"), "" where there is nothing to say, and is valid during the call
  /// only.
  virtual void stepEnded(BuildStep step, double seconds, const char* facts) noexcept = 0;
};

/// Sets the observer of builds with this configuration, which must outlive them; null for none.
/// Default: null. Returns false for a configuration of another library.
TENSORRTAPI bool setBuildObserver(nvinfer1::IBuilderConfig& config,
                                  IBuildObserver* observer) noexcept;

/// Limits builds with this configuration to about so many seconds: layers that cost most are tuned
/// first, the others get the first kernel that fits when the time is up, and the self-check is left
/// out where there is none left for it. 0, the default, is no limit. Returns false for a
/// configuration of another library, and for negative numbers and NaN.
TENSORRTAPI bool setBuildBudget(nvinfer1::IBuilderConfig& config, double seconds) noexcept;

}  // namespace tenon
