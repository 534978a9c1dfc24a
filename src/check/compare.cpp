#include "check/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tenon {

double distance(const Tensor& actual, const Tensor& expected) {
  if (actual.type() != expected.type() || actual.extents() != expected.extents()) return 1;
  double difference = 0, norm = 0;
  int64_t differing = 0;
  for (int64_t i = 0; i < expected.count(); ++i) {
    const double a = actual.as_double(i), e = expected.as_double(i);
    if (std::isfinite(a) != std::isfinite(e)) return 1;
    if (!std::isfinite(e)) continue;
    difference += (a - e) * (a - e);
    norm += e * e;
    differing += a != e ? 1 : 0;
  }
  if (!is_real(expected.type()))
    return static_cast<double>(differing) /
           static_cast<double>(std::max<int64_t>(1, expected.count()));
  // A norm of nearly nothing says nothing.
  return std::sqrt(difference / std::max(norm, 1e-12));
}

std::string compare_outputs(const Graph& graph, std::span<const Tensor> actual,
                            std::span<const Tensor> expected, double limit, double* worst) {
  for (size_t i = 0; i < expected.size(); ++i) {
    const double found = distance(actual[i], expected[i]);
    if (worst != nullptr) *worst = std::max(*worst, found);
    const double allowed = is_real(expected[i].type()) ? limit : std::max(limit, kIntegerLimit);
    if (!(found <= allowed))
      return fmt::format("output '{}': distance {:.3g}, limit {:.3g}", graph.outputs()[i]->name,
                         found, allowed);
  }
  return {};
}

}  // namespace tenon
