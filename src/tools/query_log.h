#pragma once

#include <array>
#include <span>
#include <vector>

#include "tools/statistics.h"
#include "tools/thinned.h"

namespace tenon::tools {

/// One figure of a query, as latency().
using Metric = double (QueryTimes::*)() const;

/// The times of a run's queries in bounded memory. Numbers, means and extremes count every query;
/// medians and percentiles are those of the queries that are kept, which are all up to `kMost`.
class QueryLog {
 public:
  static constexpr size_t kMost = 1 << 18;  ///< 16 MiB of them.

  explicit QueryLog(size_t most = kMost) : queries_(most) {}
  QueryLog(std::span<const QueryTimes> queries);
  QueryLog(const std::vector<QueryTimes>& queries) : QueryLog(std::span(queries)) {}

  void add(const QueryTimes& query);
  /// Of several streams, by their starts.
  static QueryLog merged(std::span<const QueryLog> streams);

  const std::vector<QueryTimes>& kept() const { return queries_.kept(); }
  size_t count() const { return queries_.count(); }
  /// One query of so many is kept.
  size_t stride() const { return queries_.stride(); }
  /// From the first start to the last end, in milliseconds.
  double wall_ms() const { return count() == 0 ? 0 : last_end_ - first_start_; }
  /// `metric` is one of QueryTimes' five.
  Summary summary(Metric metric, std::span<const double> percentiles) const;

 private:
  /// Of all queries.
  struct Exact {
    double min = 0, max = 0, sum = 0;
  };

  Thinned<QueryTimes> queries_;
  std::array<Exact, 5> exact_;
  double first_start_ = 0, last_end_ = 0;
};

}  // namespace tenon::tools
