#pragma once

#include <string>
#include <vector>

#include "NvInfer.h"
#include "tools/report.h"

namespace tenon::tools {

/// Collects the times of the layers over all runs that it is attached to.
class LayerProfiler final : public nvinfer1::IProfiler {
 public:
  void reportLayerTime(const char* name, float milliseconds) noexcept override;

  int iterations() const;
  std::vector<LayerTimes> layers() const { return layer_times(runs_); }
  void clear() { runs_.clear(); }

 private:
  std::vector<LayerRuns> runs_;
  size_t next_ = 0;
};

}  // namespace tenon::tools
