#include "tools/commands/precision_trials.h"

#include <algorithm>

namespace tenon::tools {

KeptLayers PrecisionTrials::names(const std::vector<size_t>& kept) const {
  KeptLayers names;
  for (const size_t place : kept) names.push_back(model_.layers()[place]);
  return names;
}

std::string PrecisionTrials::text(const Verdict& verdict) const {
  if (settings_.check.has_value()) return verdict.suffices ? "passes" : "fails";
  return verdict.not_finite > 0 ? "not finite" : fmt::format("{:.2g}", verdict.distance);
}

Result<Verdict> PrecisionTrials::compare(const KeptLayers& kept) {
  if (!expected_.has_value()) {
    TENON_ASSIGN(expected_, model_.exact());
  }
  TENON_ASSIGN(const TensorValues got, model_.outputs(kept));
  Verdict verdict;
  size_t compared = 0;
  for (const OutputValues& tensor : *expected_) {
    const OutputValues* other = comparable_in(got, tensor);
    if (other == nullptr) continue;
    const Deviation found = deviation_of(other->values, tensor.values);
    ++compared;
    verdict.distance = std::max(verdict.distance, found.norm);
    verdict.not_finite += found.not_finite;
  }
  if (compared == 0) {
    session_.enter(Stage::kAccuracy);
    return session_.fail(ErrorId::kNothingShared,
                         "no output has the same name and extents as in FP32");
  }
  verdict.suffices = verdict.not_finite == 0 && verdict.distance <= settings_.tolerance;
  return verdict;
}

Result<Verdict> PrecisionTrials::judge(const std::vector<size_t>& kept) {
  if (!settings_.check.has_value()) return compare(names(kept));
  TENON_TRY(model_.save(names(kept), settings_.plan_file));
  Verdict verdict;
  TENON_ASSIGN(verdict.suffices, settings_.check->passes(session_));
  return verdict;
}

Result<Verdict> PrecisionTrials::with(const std::vector<size_t>& kept) {
  if (const auto found = known_.find(kept); found != known_.end()) return found->second;
  TENON_ASSIGN(const Verdict verdict, judge(kept));
  // The same remarks come with each build: the first one's are shown.
  const bool is_first = known_.empty();
  const std::vector<std::string> remarks = session_.console().take_warnings();
  for (size_t i = 0; is_first && i < remarks.size(); ++i)
    session_.console().warning("{}", remarks[i]);
  known_[kept] = verdict;
  const bool is_by_command = settings_.check.has_value();
  if (is_first)
    session_.line("  trial  layers in {:8}  {}", settings_.high_word,
                  is_by_command ? "check" : "distance");
  session_.line("  {:5}  {:>18}  {}{}", known_.size(),
                fmt::format("{} of {}", kept.size(), model_.layers().size()), text(verdict),
                is_by_command      ? ""
                : verdict.suffices ? ", agrees"
                                   : ", differs");
  return verdict;
}

}  // namespace tenon::tools
