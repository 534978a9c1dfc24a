#include "check/choose_branches.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "check/plan_trial.h"
#include "device/described_device.h"
#include "ir/text.h"
#include "plan/branches.h"

namespace tenon {
namespace {

/// The gain that several streams must have over one.
constexpr double kMargin = 0.97;
constexpr int kProfiledRuns = 5, kTimedRuns = 40;

/// The cache's entries of a plan under one number of streams: the branches are in the keys.
std::optional<std::string> known_branches(const TimingCache& cache, const std::string& key) {
  const std::vector<std::string> found = cache.find_notes(key + "|");
  return found.empty() ? std::nullopt : std::optional(found.front());
}

/// The faster way, as the setting's text; empty: one stream.
Result<std::string> measure(const Plan& plan, const Backend& backend, int most) {
  PlanTrial alone(backend);
  TENON_TRY(alone.prepare(plan));
  TENON_ASSIGN(const auto layers, alone.layers(kProfiledRuns));
  const Branches branches = find_branches(alone.graph(), layers, most + 1);
  if (aux_streams(branches) == 0) return std::string();
  TENON_ASSIGN(const double one, alone.time(kTimedRuns));
  Plan with = copy_of(plan);
  with.settings[kBranchesSetting] = to_text(branches);
  PlanTrial beside(backend);
  TENON_TRY(beside.prepare(with));
  TENON_ASSIGN(const double several, beside.time(kTimedRuns));
  TENON_ASSIGN(const auto expected, alone.results());
  TENON_ASSIGN(const auto results, beside.results());
  if (results != expected) return internal_error("branches side by side give other results");
  return several < one * kMargin ? to_text(branches) : std::string();
}

}  // namespace

Status choose_branches(Plan& plan, const Backend& backend, int most, TimingCache& cache,
                       Logger& logger) {
  if (backend.device->streams() == nullptr && !is_described(*backend.device)) return {};
  const std::string text = print(*plan.graph);
  const DeviceProperties& device = backend.device->properties();
  const std::string key =
      fmt::format("branches {} {} {} {} {:016x}", device.name, device.compute_units,
                  device.libraries, most, XXH3_64bits(text.data(), text.size()));
  std::optional<std::string> branches = known_branches(cache, key);
  if (!branches.has_value() && !is_described(*backend.device)) {
    auto measured = measure(plan, backend, most);
    if (!measured.ok()) {
      logger.verbose("no auxiliary streams: {}", measured.error().message);
      return {};
    }
    branches = std::move(measured).value();
    cache.insert_note(key + "|" + *branches, 0);
  }
  if (branches.has_value() && !branches->empty()) plan.settings[kBranchesSetting] = *branches;
  return {};
}

}  // namespace tenon
