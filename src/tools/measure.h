#pragma once

#include "NvInfer.h"
#include "base/status.h"
#include "tools/arguments.h"
#include "tools/console.h"
#include "tools/query_log.h"
#include "tools/report.h"
#include "tools/report/document.h"
#include "tools/runner.h"

namespace tenon::tools {

/// A measured run, for reports of other forms than trtexec's.
struct Measured {
  QueryLog queries;  ///< Not profiled, unless a profile was asked for without a separate run.
  ReportSettings settings;
  std::vector<LayerTimes> layers;  ///< Where a profile was asked for.
  int profiled_runs = 0;
  bool wants_layers = false;  ///< Layers are timed although no flag asks for it.
};

/// Makes contexts and buffers, runs as long as asked, and reports: the inference part of trtexec.
/// `measured` and `report`, which receives what a report needs, may be null.
Status measure_engine(nvinfer1::ICudaEngine& engine, const Arguments& arguments, Console& console,
                      Measured* measured = nullptr, ReportParts* report = nullptr);

/// A context with its buffers for each of --infStreams, with shapes and inputs as asked.
Result<std::vector<std::unique_ptr<Runner>>> make_runners(nvinfer1::ICudaEngine& engine,
                                                          const Arguments& arguments,
                                                          Console& console);

}  // namespace tenon::tools
