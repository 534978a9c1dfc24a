#include "select/operation_cache.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>

namespace tenon {
namespace {

constexpr std::string_view kPrefix = "operation|";
constexpr std::string_view kChosen = "|chosen|", kCandidate = "|candidate|";

std::string entry(const std::string& id, std::string_view kind, std::string_view tactic = {}) {
  return fmt::format("{}{}{}{}", kPrefix, id, kind, tactic);
}

/// In lines of fields a comma ends a field.
std::string one_field(std::string text) {
  std::ranges::replace(text, ',', ';');
  return text;
}

void log_operation(Logger& logger, const std::string& layer, const std::string& id,
                   const std::vector<Candidate>& candidates, const std::string& selected) {
  logger.verbose("Autotuning op {}(key: 0x{}):", layer, id);
  logger.verbose(
      "tactic_id, cost(in ms), cost/fastest_cost, prediction_correlation, kernel_name, "
      "tactic_hash, tactic_shape");
  double fastest = 0, cost = 0;
  for (const Candidate& candidate : candidates) {
    const double time = std::max(candidate.milliseconds, 0.0);
    if (fastest == 0 || (time > 0 && time < fastest)) fastest = time;
    if (candidate.tactic == selected) cost = time;
  }
  for (size_t i = 0; i < candidates.size(); ++i) {
    const double time = std::max(candidates[i].milliseconds, 0.0);
    logger.verbose("{}, {:.5f}, {:.2f}, 1.000, {}, 0x{:x},", i, time,
                   fastest > 0 ? time / fastest : 1.0, one_field(candidates[i].tactic),
                   tactic_hash(candidates[i].tactic));
  }
  logger.verbose("The selected tactic is (tactic hash, cost(in ms)):0x{:x}, {:.5f}",
                 tactic_hash(selected), cost);
}

}  // namespace

std::string operation_id(const std::string& layer, const std::string& problem_key) {
  const std::string text = fmt::format("{}\n{}", layer, problem_key);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

uint64_t tactic_hash(const std::string& tactic) {
  return XXH3_64bits(tactic.data(), tactic.size());
}

std::vector<CachedOperation> operations_of(const TimingCache& cache) {
  std::vector<CachedOperation> all;
  for (const std::string& rest : cache.find_prefix(kPrefix)) {
    const size_t end = rest.find(kChosen);
    if (end == std::string::npos) continue;
    CachedOperation operation{rest.substr(0, end), rest.substr(end + kChosen.size()), 0};
    operation.milliseconds = cache.find(entry(operation.id, kChosen, operation.tactic)).value_or(0);
    all.push_back(std::move(operation));
  }
  return all;
}

std::optional<CachedOperation> find_operation(const TimingCache& cache, const std::string& id) {
  const std::vector<std::string> chosen = cache.find_prefix(entry(id, kChosen));
  if (chosen.empty()) return std::nullopt;
  return CachedOperation{id, chosen[0], cache.find(entry(id, kChosen, chosen[0])).value_or(0)};
}

bool choose_tactic(TimingCache& cache, const std::string& id, uint64_t hash, double milliseconds) {
  for (const std::string& tactic : cache.find_prefix(entry(id, kCandidate))) {
    if (tactic_hash(tactic) != hash) continue;
    const std::string chosen = entry(id, kChosen);
    TimingCache changed =
        cache.filtered([&](const std::string& key) { return !key.starts_with(chosen); });
    changed.insert(entry(id, kChosen, tactic), milliseconds);
    cache = std::move(changed);
    return true;
  }
  return false;
}

std::string remember_operation(TimingCache& cache, const std::string& layer,
                               const std::string& problem_key,
                               const std::vector<Candidate>& candidates, std::string selected,
                               Logger* logger) {
  std::vector<Candidate> fitting;
  std::ranges::copy_if(candidates, std::back_inserter(fitting),
                       [](const Candidate& candidate) { return candidate.reason.empty(); });
  const std::string id = operation_id(layer, problem_key);
  const auto known = find_operation(cache, id);
  const bool fits = known && std::ranges::any_of(fitting, [&](const Candidate& candidate) {
                      return candidate.tactic == known->tactic;
                    });
  if (fits) selected = known->tactic;
  for (const Candidate& candidate : fitting) {
    cache.insert(entry(id, kCandidate, candidate.tactic), candidate.milliseconds);
    if (candidate.tactic == selected && !fits)
      cache.insert(entry(id, kChosen, selected), candidate.milliseconds);
  }
  if (logger != nullptr) log_operation(*logger, layer, id, fitting, selected);
  return selected;
}

}  // namespace tenon
