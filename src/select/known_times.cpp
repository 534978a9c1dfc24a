#include "select/known_times.h"

#include "ops/ops.h"
#include "select/problem_key.h"

namespace tenon {
namespace {

/// Plugins say whether times of theirs may be kept.
bool keeps_times(const Problem& problem) {
  const auto* plugin = problem.operation.as<Plugin>();
  return plugin == nullptr || !plugin->timing_id.empty();
}

std::string entry_of(const Problem& problem, const Option& option) {
  return timing_key(problem_key(problem), *option.tactic, option.config);
}

/// Under it the cache has how much workspace a candidate takes, if any.
std::string workspace_key(const std::string& entry) {
  return "workspace " + entry;
}

}  // namespace

std::optional<double> KnownTimes::find(const Problem& problem, const Option& option) const {
  if (!scope_.options.use_cache || !keeps_times(problem)) return std::nullopt;
  return scope_.cache.find(entry_of(problem, option));
}

double KnownTimes::workspace(const Problem& problem, const Option& option) const {
  return scope_.cache.find_note(workspace_key(entry_of(problem, option))).value_or(0);
}

void KnownTimes::insert(const Problem& problem, const Option& option, double milliseconds,
                        double workspace) const {
  if (!keeps_times(problem)) return;
  const std::string entry = entry_of(problem, option);
  scope_.cache.insert(entry, milliseconds);
  if (workspace > 0) scope_.cache.insert_note(workspace_key(entry), workspace);
}

std::vector<std::string> KnownTimes::configs(const Problem& problem, const Tactic& tactic) const {
  std::vector<std::string> configs =
      scope_.cache.find_prefix(timing_prefix(problem_key(problem), tactic));
  for (std::string& config : configs) config.pop_back();  // The closing brace.
  return configs;
}

}  // namespace tenon
