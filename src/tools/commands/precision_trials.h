#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tools/commands/check_command.h"
#include "tools/commands/reduced_model.h"

namespace tenon::tools {

/// What came out with some layers in high precision.
struct Verdict {
  bool suffices = false;
  double distance = 0;    ///< Of the output that is furthest away; nothing by a check command.
  size_t not_finite = 0;  ///< Values that are finite on one side alone.
};

/// How verdicts come about.
struct TrialSettings {
  double tolerance = 0;
  std::optional<CheckCommand> check;  ///< In place of the comparison with FP32.
  std::string plan_file;              ///< Of the check command.
  std::string high_word;              ///< "fp32"
};

/// Tries sets of layers in high precision, each once, with a line on the page for each.
class PrecisionTrials {
 public:
  PrecisionTrials(Session& session, ReducedModel& model, TrialSettings settings)
      : session_(session), model_(model), settings_(std::move(settings)) {}

  /// `kept`: places in model.layers(), in ascending order.
  Result<Verdict> with(const std::vector<size_t>& kept);
  /// "0.031", "not finite"; with a check command "passes" and "fails".
  std::string text(const Verdict& verdict) const;
  KeptLayers names(const std::vector<size_t>& kept) const;
  size_t count() const { return known_.size(); }

 private:
  Result<Verdict> judge(const std::vector<size_t>& kept);
  Result<Verdict> compare(const KeptLayers& kept);

  Session& session_;
  ReducedModel& model_;
  const TrialSettings settings_;
  std::optional<TensorValues> expected_;
  std::map<std::vector<size_t>, Verdict> known_;
};

}  // namespace tenon::tools
