#pragma once

#include <map>
#include <memory>
#include <string>

#include "api/algorithm_questions.h"
#include "api/builder_config.h"
#include "api/candidate_record.h"
#include "api/family_build.h"
#include "api/implicit_quantization.h"
#include "api/progress.h"
#include "base/stop.h"
#include "base/stopwatch.h"
#include "network/io_formats.h"
#include "network/network.h"
#include "network/report.h"
#include "plan/plan_file.h"
#include "quantizer/precision_budget.h"
#include "runtime/library_starts.h"
#include "select/compile.h"

namespace tenon::api {

/// One build of a plan, for buildSerializedNetwork.
class Build {
 public:
  /// `allocator`: the source of device memory; null: the device. `max_threads`: of the CPU; 0 means
  /// all. All of them outlive the build.
  Build(network::Network& network, BuilderConfig& config,
        std::shared_ptr<network::Reporter> reporter, IGpuAllocator* allocator, int32_t max_threads);

  /// Once: the plan's bytes go to the sink.
  Status run(PlanSink& sink);

 private:
  Status take_network();
  Status open_device();
  void set_selection();
  Result<Plan> compile();
  Status complete(Plan& plan);
  Status write(Plan& plan, PlanSink& sink);

  network::Network& network_;
  BuilderConfig& config_;
  const std::shared_ptr<network::Reporter> reporter_;
  IGpuAllocator* const allocator_;
  const int32_t max_threads_;
  Progress progress_;
  const StopScope stops_;
  CompileRequest request_;
  std::vector<KeptNode> kept_;  ///< Layers in f32 for the budget for precision.
  network::IoFormats formats_;
  FamilyBuild family_;
  Backend backend_;  ///< As the request had it.
  std::unique_ptr<ConstantStore> constants_;
  CandidateRecord record_;
  AlgorithmQuestions questions_;
  TimingCache own_cache_;
  TimingCache& cache_;
  std::map<std::string, std::string> recipe_settings_;
  std::unique_ptr<Graph> recipe_;  ///< The network, for refitting; null: the plan is not refitted.
  LibraryStarts starts_;           ///< Libraries get ready beside all else.
  Stopwatch watch_;
};

}  // namespace tenon::api
