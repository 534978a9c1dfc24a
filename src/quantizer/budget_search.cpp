#include "quantizer/budget_search.h"

#include <algorithm>
#include <cmath>

#include "check/sample.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "select/compile.h"

namespace tenon {
namespace {

/// The first profile's usual extents alone.
std::vector<Profile> usual_of(const std::vector<Profile>& profiles) {
  if (profiles.empty()) return {};
  Profile usual = profiles[0];
  for (auto& [name, range] : usual) {
    range.min = range.max = range.opt;
    range.min_values = range.max_values = range.opt_values;
  }
  return {usual};
}

/// Values are told apart by name.
void name_values(Graph& graph) {
  int number = 0;
  for (const auto& node : graph.nodes())
    for (Value* output : node->outputs())
      if (output->name.empty()) output->name = fmt::format("{}.{}", node->name, number++);
}

}  // namespace

Result<SampledNetwork> sampled_network(const Graph& network, const std::vector<Profile>& profiles) {
  SampledNetwork sampled{network.clone(), usual_of(profiles), {}};
  TENON_TRY(apply_profiles(*sampled.graph, sampled.profiles));
  TENON_TRY(infer_graph(*sampled.graph));
  name_values(*sampled.graph);
  TENON_ASSIGN(sampled.inputs, sample_inputs(*sampled.graph, sampled.profiles[0]));
  return sampled;
}

double relative_error(const std::vector<Tensor>& actual, const std::vector<Tensor>& expected) {
  double difference = 0, size = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    for (int64_t k = 0; is_real(expected[i].type()) && k < expected[i].count(); ++k) {
      const double e = expected[i].as_double(k), d = actual[i].as_double(k) - e;
      difference += d * d;
      size += e * e;
    }
  const double error = size > 0 ? std::sqrt(difference / size) : std::sqrt(difference);
  return std::isfinite(error) ? error : HUGE_VAL;
}

void sort_by_error(std::vector<SensitiveNode>& nodes) {
  std::ranges::stable_sort(nodes, [](const auto& a, const auto& b) { return a.error > b.error; });
}

Result<Fewest> fewest_within(size_t count, double budget,
                             const std::function<Result<double>(size_t)>& error_with) {
  size_t too_few = 0;
  Fewest enough{.count = count};
  while (enough.count - too_few > 1) {
    const size_t middle = (too_few + enough.count) / 2;
    TENON_ASSIGN(const double found, error_with(middle));
    if (found <= budget)
      enough = {middle, found};
    else
      too_few = middle;
  }
  return enough;
}

}  // namespace tenon
