#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "ir/graph.h"
#include "plan/plan.h"

namespace tenon::api {

class BuilderConfig;

/// A network whose passes or kernels fail, as an ONNX model in the folder that TENON_REPRODUCERS
/// names, and the command line that fails likewise.
class Reproducer {
 public:
  Reproducer(const Graph& network, const BuilderConfig& config, bool strongly_typed,
             std::span<const Profile> profiles);

  /// The build's plan, or its error, which says the command from now on. The application's own
  /// mistakes stay as they are.
  Result<Plan> of(Result<Plan> plan) const;

 private:
  std::filesystem::path folder_;
  std::unique_ptr<Graph> network_;  ///< Null: nothing is kept.
  std::string flags_;
};

}  // namespace tenon::api
