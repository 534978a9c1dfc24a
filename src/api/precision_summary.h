#pragma once

#include <string>
#include <vector>

#include "api/builder_config.h"
#include "api/implicit_quantization.h"
#include "base/log.h"
#include "ir/graph.h"
#include "passes/pass.h"
#include "quantizer/precision_budget.h"

namespace tenon::api {

/// The effect of the flags for 16-, 8- and 4-bit types and for sparse weights, and of such types
/// in the network itself: how many of the layers with products compute so in the plan, and the
/// reasons of the others. No flag is ignored in silence.
class PrecisionSummary {
 public:
  /// Looks at the network that is compiled, implicit quantization included.
  /// `kept`: layers in f32 for the budget for precision, which outlive this.
  PrecisionSummary(const BuilderConfig& config, const Graph& network, const PassOptions& passes,
                   const ImplicitQuantization& quantization, const std::vector<KeptNode>& kept);

  /// The lines that are no warnings, for the plan.
  std::string report(const Graph& plan, Logger& logger) const;

 private:
  struct Layer {
    std::string name;
    tenon::DataType activations, weights;  ///< As quantized in the network; else their own types.
    bool constant_weights = false, grouped = false, blocked = false;
    bool dynamic = false;  ///< Its scale is computed in the run.
    bool sparse_pattern = false, quantizable = false;
  };
  struct Row;
  struct Tally;
  static const std::vector<Row>& rows();

  void collect(const Graph& graph);
  void report_row(const Row& row, const Graph& plan, Logger& logger) const;
  Tally tally(const Row& row, const Graph& plan) const;
  void report_kept(Logger& logger) const;
  void report_sparsity(const Graph& plan, Logger& logger) const;
  std::string reason_for(const Row& row, const Layer& layer) const;

  const BuilderConfig& config_;
  const std::vector<std::string> disabled_;  ///< Passes, at all layers or some.
  const ImplicitQuantization& quantization_;
  const std::vector<KeptNode>& kept_;
  std::vector<Layer> layers_;
};

}  // namespace tenon::api
