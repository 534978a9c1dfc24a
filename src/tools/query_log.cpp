#include "tools/query_log.h"

#include <algorithm>

namespace tenon::tools {
namespace {

constexpr std::array<Metric, 5> kMetrics = {&QueryTimes::latency, &QueryTimes::enqueue,
                                            &QueryTimes::h2d, &QueryTimes::compute,
                                            &QueryTimes::d2h};

}  // namespace

QueryLog::QueryLog(std::span<const QueryTimes> queries) : QueryLog() {
  for (const QueryTimes& query : queries) add(query);
}

void QueryLog::add(const QueryTimes& query) {
  const bool is_first = count() == 0;
  first_start_ = is_first ? query.start_h2d : std::min(first_start_, query.start_h2d);
  last_end_ = is_first ? query.end_d2h : std::max(last_end_, query.end_d2h);
  for (size_t i = 0; i < kMetrics.size(); ++i) {
    const double value = (query.*kMetrics[i])();
    Exact& exact = exact_[i];
    exact.min = is_first ? value : std::min(exact.min, value);
    exact.max = is_first ? value : std::max(exact.max, value);
    exact.sum += value;
  }
  queries_.add(query);
}

QueryLog QueryLog::merged(std::span<const QueryLog> streams) {
  QueryLog all;
  for (const QueryLog& stream : streams) {
    if (stream.count() == 0) continue;
    const bool is_first = all.count() == 0;
    all.first_start_ =
        is_first ? stream.first_start_ : std::min(all.first_start_, stream.first_start_);
    all.last_end_ = is_first ? stream.last_end_ : std::max(all.last_end_, stream.last_end_);
    for (size_t i = 0; i < kMetrics.size(); ++i) {
      Exact& to = all.exact_[i];
      const Exact& from = stream.exact_[i];
      to.min = is_first ? from.min : std::min(to.min, from.min);
      to.max = is_first ? from.max : std::max(to.max, from.max);
      to.sum += from.sum;
    }
    all.queries_.append(stream.queries_);
  }
  std::ranges::sort(all.queries_.kept(), {}, &QueryTimes::start_h2d);
  return all;
}

Summary QueryLog::summary(Metric metric, std::span<const double> percentiles) const {
  Summary summary = summarize(values_of(kept(), metric), percentiles);
  const size_t index = std::ranges::find(kMetrics, metric) - kMetrics.begin();
  if (count() == 0 || index == kMetrics.size()) return summary;
  summary.min = exact_[index].min;
  summary.max = exact_[index].max;
  summary.mean = exact_[index].sum / static_cast<double>(count());
  return summary;
}

}  // namespace tenon::tools
