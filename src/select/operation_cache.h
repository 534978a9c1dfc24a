#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "select/select.h"

namespace tenon {

/// Entry of an editable timing cache for one layer: the candidates and which of them is taken. Kept
/// among the entries of the timing cache; two layers with equal problems have an entry each.
struct CachedOperation {
  std::string id;  ///< 32 hexadecimal digits.
  std::string tactic;
  double milliseconds = 0;
};

/// From a layer's name and its problem's key.
std::string operation_id(const std::string& layer, const std::string& problem_key);
/// Identifier of tactics outside: XXH3-64 of their text.
uint64_t tactic_hash(const std::string& tactic);
/// All layers that the cache has, in the order of their ids.
std::vector<CachedOperation> operations_of(const TimingCache& cache);
std::optional<CachedOperation> find_operation(const TimingCache& cache, const std::string& id);
/// From now on builds take the candidate of that hash; false where the layer has none such.
bool choose_tactic(TimingCache& cache, const std::string& id, uint64_t hash, double milliseconds);

/// Notes a layer's candidates, of which the first is the best, and returns the tactic that the
/// cache says, or else that of the selection. Logs both in lines that programs read.
std::string remember_operation(TimingCache& cache, const std::string& layer,
                               const std::string& problem_key,
                               const std::vector<Candidate>& candidates, std::string selected,
                               Logger* logger);

}  // namespace tenon
