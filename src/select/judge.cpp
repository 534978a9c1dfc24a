#include "select/judge.h"

#include <fmt/format.h>

#include <algorithm>

#include "select/agreement.h"
#include "select/effort.h"
#include "select/known_times.h"

namespace tenon {
namespace {

Result<Sample> reference_sample(const Backend& backend, const Problem& problem,
                                Measurer& measurer) {
  const Tactic& reference = backend.reference();
  if (!reference.supports(problem)) return unsupported("no reference");
  TENON_ASSIGN(const auto kernel,
               create_kernel(reference, problem, reference.configs(problem).front()));
  return measurer.sample(problem, *kernel);
}

}  // namespace

void leave_out_wrong(const SelectScope& scope, const Problem& problem, Measurer& measurer,
                     std::vector<Measured>& measured, Shortlist& list) {
  const Tolerance limit = agreement_tolerance(problem);
  const auto differs = [&](const Measured& one, const Sample& expected) {
    return !one.sample.empty() && !sample_deviation(one.sample, expected, limit).agrees();
  };
  const auto first =
      std::ranges::find_if(measured, [](const Measured& one) { return !one.sample.empty(); });
  if (std::none_of(first, measured.end(),
                   [&](const Measured& one) { return differs(one, first->sample); }))
    return;
  const Result<Sample> expected = reference_sample(scope.backend, problem, measurer);
  if (!expected.ok() || std::ranges::all_of(measured, [&](const Measured& one) {
        return one.sample.empty() || differs(one, *expected);
      }))
    return;
  for (size_t i = measured.size(); i-- > 0;) {
    const Measured& one = measured[i];
    if (!differs(one, *expected)) continue;
    const std::string reason =
        fmt::format("it computes something else: {}",
                    sample_deviation(one.sample, *expected, limit).describe());
    if (scope.options.logger != nullptr)
      scope.options.logger->warning("{}: {} is left out: {}", problem.layer, one.option.text(),
                                    reason);
    KnownTimes(scope).insert(problem, one.option, effort::kWrong);
    list.unfit.push_back({one.option.text(), one.milliseconds, reason});
    measured.erase(measured.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace tenon
