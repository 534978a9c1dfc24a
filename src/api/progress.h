#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "NvInfer.h"
#include "base/status.h"
#include "select/build_watch.h"
#include "tenon/progress.h"

namespace tenon::api {

/// Tells an IProgressMonitor and an IBuildObserver, where there are any, how far a build is. For
/// the monitor that is a phase of three steps, the second of which is a phase of its own with a
/// step a layer; long evaluations on the host are phases inside these. At least once a second it is
/// told the last step again, and may stop the build. Errors where it does.
class Progress {
 public:
  /// `budget`: seconds that the build may take; 0 for no limit.
  Progress(nvinfer1::IProgressMonitor* monitor, IBuildObserver* observer, double budget);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  Status network_done() { return step(0); }
  /// For SelectOptions.
  std::function<bool(int, int)> for_kernels();
  BuildWatch* watch() { return &watch_; }
  Status kernels_done();
  /// For a StopScope around the build: an evaluation on the host that lasts longer than a moment
  /// (of a loop that does not end, of the check's reference) is a phase of its own, named by the
  /// build's step, and asks the monitor ten times a second. Its steps are hundredths of the time
  /// that the build's step is expected to take. Empty where there is no monitor; from any thread.
  std::function<bool()> for_evaluations();
  /// The plan is written.
  void all_done() { watch_.finish(); }

 private:
  using Clock = std::chrono::steady_clock;
  Status step(int number);
  bool stops_evaluations();
  bool tell_evaluation(const BuildWatch::State& state, double spent);
  void end_evaluations();
  void end_kernels();
  /// Tells the monitor, and keeps its state; false where it has stopped the build.
  bool tell(const char* phase, int number);
  void step_ended(BuildWatch::Step step, double seconds, const std::string& facts);
  void tell_again();
  void tell_observer(const BuildWatch::State& state);
  void beat();

  nvinfer1::IProgressMonitor* const monitor_;
  IBuildObserver* const observer_;
  BuildWatch watch_;
  bool choosing_ = false;
  std::mutex mutex_;  ///< Held while either is told.
  const char* last_phase_ = nullptr;
  int last_step_ = 0;
  double done_ = 0;                    ///< The share that was told: it never falls.
  Clock::time_point asked_ = {};       ///< When evaluations last did; nothing: they never did.
  const char* evaluations_ = nullptr;  ///< Their phase, while it is open.
  int evaluation_steps_ = 0;
  Clock::time_point last_told_ = Clock::now();
  std::atomic<bool> stopped_ = false;
  bool over_ = false;
  std::condition_variable wakes_;
  std::thread heart_;  ///< Only where there is an observer.
};

}  // namespace tenon::api
