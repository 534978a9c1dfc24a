#include "check/non_finite.h"

#include <fmt/ranges.h>

#include <cmath>
#include <unordered_map>

#include "ir/value_name.h"
#include "ops/ops.h"
#include "ops/table.h"
#include "passes/pass.h"

namespace tenon {
namespace {

/// Description of a value's contents.
struct Census {
  double low = INFINITY, high = -INFINITY;  ///< Of finite elements.
  int64_t nans = 0, infinities = 0;
  Extents extents;

  static Census of(const Tensor& tensor) {
    Census census;
    census.extents = tensor.extents();
    if (!is_real(tensor.type())) return census;
    for (int64_t i = 0; i < tensor.count(); ++i) {
      const double x = tensor.as_double(i);
      census.nans += std::isnan(x) ? 1 : 0;
      census.infinities += std::isinf(x) ? 1 : 0;
      if (!std::isfinite(x)) continue;
      census.low = std::min(census.low, x);
      census.high = std::max(census.high, x);
    }
    return census;
  }
  bool finite() const { return nans + infinities == 0; }
};

std::string type_text(const Value& value, const Census& census) {
  return fmt::format("{}{}", name_of(value.type.type), to_string(to_shape(census.extents)));
}

/// Watches values as they are computed.
class Hunt {
 public:
  void watch(const Value& value, const Tensor& tensor) {
    const Census census = Census::of(tensor);
    censuses_[&value] = census;
    const Node* node = value.producer();
    if (found_.has_value() || census.finite() || node == nullptr || node->is<Constant>()) return;
    // Infinities of a mask pass through without being made.
    for (const Value* input : node->inputs())
      if (input != nullptr && !censuses_[input].finite()) return;
    describe(*node, value, census);
  }
  const std::optional<NonFinite>& found() const { return found_; }

 private:
  void describe(const Node& node, const Value& value, const Census& census) {
    std::vector<std::string> inputs;
    for (const Value* input : node.inputs()) {
      if (input == nullptr) continue;
      const Census& its = censuses_[input];
      inputs.push_back(fmt::format("{} {} from {:g} to {:g}", quoted_name(*input),
                                   type_text(*input, its), its.low, its.high));
    }
    const std::string what =
        census.nans > 0
            ? fmt::format("{} NaN{}", census.nans, census.nans > 1 ? "s" : "")
            : fmt::format("{} infinit{}", census.infinities, census.infinities > 1 ? "ies" : "y");
    found_ = NonFinite{
        node.name, std::string(node.op->name()), node.origins,
        fmt::format("node '{}' ({}) makes {} in {}; inputs: {}", node.name, node.op->name(), what,
                    type_text(value, census), fmt::join(inputs, ", "))};
  }

  std::unordered_map<const Value*, Census> censuses_;
  std::optional<NonFinite> found_;
};

}  // namespace

Result<std::optional<NonFinite>> find_non_finite(const Graph& network,
                                                 const std::vector<Tensor>& inputs,
                                                 std::optional<DataType> precision) {
  const auto graph = network.clone();
  TENON_TRY(infer_graph(*graph));
  if (precision.has_value()) {
    PassOptions options;
    options.precision = precision;
    NullLogger logger;
    PassContext context(options, logger);
    TENON_TRY(run_pass(*graph, *find_pass("lower_precision"), context));
  }
  Hunt hunt;
  TENON_TRY(evaluate_graph(*graph, inputs, [&hunt](const Value& value, const Tensor& tensor) {
    hunt.watch(value, tensor);
  }));
  return hunt.found();
}

}  // namespace tenon
