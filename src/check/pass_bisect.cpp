#include "check/pass_bisect.h"

#include <algorithm>

#include "check/compare.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Different mistakes that are looked for; beyond that something else is wrong.
constexpr int kMaxMistakes = 8;
/// Of one pass, behind which the whole pass is left out.
constexpr int kMaxNodes = 6;

/// The same in another type is compared by its numbers; under other extents it is not.
double value_distance(const Tensor& actual, const Tensor& expected) {
  if (actual.extents() != expected.extents()) return 0;
  if (actual.type() == expected.type()) return distance(actual, expected);
  if (!is_real(actual.type()) || !is_real(expected.type())) return 0;
  Tensor numbers(expected.type(), expected.extents());
  for (int64_t i = 0; i < numbers.count(); ++i) numbers.set_from_double(i, actual.as_double(i));
  return distance(numbers, expected);
}

/// Bytes and indices of nearly equal values may be neighbours.
double value_limit(const Tensor& value, double limit) {
  return is_real(value.type()) ? limit : std::max(limit, kIntegerLimit);
}

class Bisection {
 public:
  Bisection(const Graph& network, const PassOptions& options, const Expectation& expected)
      : network_(network), options_(options), expected_(expected) {}

  /// Number of the pipeline's first steps with the last of which results become wrong.
  Result<int> first_wrong_step() const {
    int right = 0, wrong = static_cast<int>(pipeline_of(options_).size());
    while (wrong - right > 1) {
      const int middle = (right + wrong) / 2;
      TENON_ASSIGN(const bool deviates, wrong_after(middle));
      (deviates ? wrong : right) = middle;
    }
    return wrong;
  }

  Result<std::string> deviation_after(int steps) const {
    TENON_ASSIGN(const auto graph, graph_after(steps));
    return deviation(*graph, expected_);
  }

  Result<bool> wrong_after(int steps) const {
    TENON_ASSIGN(const std::string what, deviation_after(steps));
    return !what.empty();
  }

  /// The nodes without which the step is right: one, or none where several are needed.
  Result<std::string> guilty_node(int step) const {
    const PassInfo& pass = *pipeline_of(options_)[step - 1];
    TENON_ASSIGN(const auto before, graph_after(step - 1));
    std::vector<std::string> names;
    for (const auto& node : before->nodes())
      if (!node->name.empty()) names.push_back(node->name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    const std::vector<std::string> all = names;
    while (names.size() > 1) {
      const auto middle = names.begin() + static_cast<ptrdiff_t>(names.size() / 2);
      const std::vector<std::string> first(names.begin(), middle), second(middle, names.end());
      TENON_ASSIGN(const bool first_wrong, wrong_with(pass, *before, all, first));
      TENON_ASSIGN(const bool second_wrong, wrong_with(pass, *before, all, second));
      if (!first_wrong && !second_wrong) return std::string();
      names = first_wrong ? first : second;
    }
    if (names.empty()) return std::string();
    return names[0];
  }

 private:
  Result<std::unique_ptr<Graph>> graph_after(int steps) const {
    auto graph = network_.clone();
    PassOptions options = options_;
    options.steps = steps;
    NullLogger logger;
    TENON_TRY(run_passes(*graph, options, logger));
    return graph;
  }

  /// Whether the pass gives wrong results when it may change no nodes but these.
  Result<bool> wrong_with(const PassInfo& pass, const Graph& before,
                          const std::vector<std::string>& all,
                          const std::vector<std::string>& allowed) const {
    PassOptions options = options_;
    for (const std::string& name : all)
      if (!std::binary_search(allowed.begin(), allowed.end(), name))
        options.disabled.push_back(fmt::format("{}:{}", pass.name, name));
    auto graph = before.clone();
    NullLogger logger;
    PassContext context(options, logger);
    TENON_TRY(run_pass(*graph, pass, context));
    return !deviation(*graph, expected_).empty();
  }

  const Graph& network_;
  const PassOptions& options_;
  const Expectation& expected_;
};

}  // namespace

std::string deviation(const Graph& graph, const Expectation& expected) {
  std::string first;
  const ValueObserver compare = [&](const Value& value, const Tensor& tensor) {
    const auto found = expected.values.find(value.name);
    if (!first.empty() || found == expected.values.end() || value.producer() == nullptr) return;
    const double limit = value_limit(tensor, expected.limit);
    const double apart = value_distance(tensor, found->second);
    if (apart <= limit) return;
    first = fmt::format("region '{}', value '{}': distance {:.3g}, limit {:.3g}",
                        value.producer()->name, value.name, apart, limit);
  };
  const auto outputs = evaluate_graph(graph, expected.inputs, compare);
  if (!outputs.ok()) return outputs.error().message;
  if (!first.empty()) return first;
  return compare_outputs(graph, *outputs, expected.outputs, expected.limit);
}

Result<std::vector<std::string>> disable_wrong_passes(const Graph& network, PassOptions& options,
                                                      const Expectation& expected, Logger& logger) {
  std::vector<std::string> found;
  for (int mistake = 0; mistake < kMaxMistakes; ++mistake) {
    const Bisection bisection(network, options, expected);
    const int all = static_cast<int>(pipeline_of(options).size());
    TENON_ASSIGN(const bool wrong, bisection.wrong_after(all));
    if (!wrong) return found;
    if (!expected.values.empty()) {
      TENON_ASSIGN(const std::string what, bisection.deviation_after(all));
      logger.warning("self-check: {}", what);
    }
    TENON_ASSIGN(const int step, bisection.first_wrong_step());
    const std::string pass(pipeline_of(options)[step - 1]->name);
    const auto nodes = std::count_if(found.begin(), found.end(), [&](const std::string& other) {
      return other.starts_with(pass + ":");
    });
    std::string entry = pass, where = " at many nodes";
    if (nodes < kMaxNodes) {
      TENON_ASSIGN(const std::string node, bisection.guilty_node(step));
      where = node.empty() ? "" : " at node '" + node + "'";
      if (!node.empty()) entry += ":" + node;
    }
    logger.warning(
        "self-check: pass {} changes results{}; it is left out {} (--disablePass={} does the same)",
        pass, where, entry == pass ? "altogether" : "there", entry);
    options.disabled.push_back(entry);
    found.push_back(entry);
  }
  return internal_error("self-check: results are still wrong without {}", fmt::join(found, ", "));
}

}  // namespace tenon
