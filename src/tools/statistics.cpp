#include "tools/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace tenon::tools {

double percentile(std::span<const double> ascending, double p) {
  if (ascending.empty()) return 0;
  const auto count = static_cast<double>(ascending.size());
  // (100 - p) * n / 100 rather than (1 - p / 100) * n, which rounds 0.1 * 10 below 1.
  const double index = count - 1 - std::floor((100 - p) * count / 100);
  return ascending[static_cast<size_t>(std::max(index, 0.0))];
}

double median(std::span<const double> ascending) {
  if (ascending.empty()) return 0;
  const size_t middle = ascending.size() / 2;
  if (ascending.size() % 2 == 1) return ascending[middle];
  return (ascending[middle - 1] + ascending[middle]) / 2;
}

Summary summarize(std::vector<double> values, std::span<const double> percentiles) {
  Summary summary;
  summary.percentiles.assign(percentiles.size(), 0);
  if (values.empty()) return summary;
  std::ranges::sort(values);
  const auto count = static_cast<double>(values.size());
  summary.min = values.front();
  summary.max = values.back();
  summary.mean = std::accumulate(values.begin(), values.end(), 0.0) / count;
  summary.median = median(values);
  std::ranges::transform(percentiles, summary.percentiles.begin(),
                         [&](double p) { return percentile(values, p); });
  double squares = 0;
  for (double value : values) squares += (value - summary.mean) * (value - summary.mean);
  if (summary.mean > 0)
    summary.coefficient_of_variation = std::sqrt(squares / count) / summary.mean * 100;
  return summary;
}

std::vector<double> values_of(std::span<const QueryTimes> queries,
                              double (QueryTimes::*value)() const) {
  std::vector<double> values;
  values.reserve(queries.size());
  for (const QueryTimes& query : queries) values.push_back((query.*value)());
  return values;
}

}  // namespace tenon::tools
