#include "check/pass_bisect.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "base/stop.h"
#include "check/compare.h"
#include "ops/table.h"

namespace tenon {
namespace {

/// Different mistakes that are looked for; beyond that something else is wrong.
constexpr int kMaxMistakes = 8;
/// Of one pass, behind which the whole pass is left out.
constexpr int kMaxNodes = 6;
constexpr const char* kLate = "the time is up";
/// Asked for by the user.
constexpr const char* kPrecisionPass = "lower_precision";

class Bisection {
 public:
  Bisection(const Graph& network, const PassOptions& options, const Expectation& expected,
            const Deadline& deadline)
      : network_(network), options_(options), expected_(expected), deadline_(deadline) {}

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
    if (deadline_.passed()) return late();
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
      if (!first_wrong) {
        TENON_ASSIGN(const bool second_wrong, wrong_with(pass, *before, all, second));
        if (!second_wrong) return std::string();
      }
      names = first_wrong ? first : second;
    }
    if (names.empty()) return std::string();
    return names[0];
  }

 private:
  static Error late() { return resource_error("{}", kLate); }

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
    if (deadline_.passed()) return late();
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
  const Deadline& deadline_;
};

}  // namespace

std::string deviation(const Graph& graph, const Expectation& expected) {
  std::string first;
  const Steadiness steadiness = std::max(steadiness_of(graph), Steadiness::kSteady);
  const ValueObserver compare = [&](const Value& value, const Tensor& tensor) {
    const auto found = expected.values.find(value.name);
    if (!first.empty() || found == expected.values.end() || value.producer() == nullptr) return;
    // Other extents are another value; another type is the same by its numbers.
    if (tensor.extents() != found->second.extents()) return;
    if (tensor.type() != found->second.type() &&
        !(is_real(tensor.type()) && is_real(found->second.type())))
      return;
    const auto rounded = expected.rounded_values.find(value.name);
    const Deviation apart =
        compare_results(tensor, found->second,
                        rounded == expected.rounded_values.end() ? nullptr : &rounded->second,
                        expected.tolerance, steadiness);
    if (apart.norm <= apart.norm_limit) return;
    first = fmt::format("region '{}', value '{}': {}", value.producer()->name, value.name,
                        apart.describe());
  };
  const bool by_values = !expected.values.empty() || !expected.evaluate;
  const auto outputs =
      by_values ? evaluate_graph(graph, expected.inputs, compare) : expected.evaluate(graph);
  if (!outputs.ok()) return outputs.error().message;
  if (!first.empty()) return first;
  return compare_outputs(graph, *outputs, expected.outputs, expected.rounded, expected.tolerance);
}

namespace {

/// The first mistake: the pass to disable, or nothing where all is right.
Result<std::string> first_mistake(const Graph& network, const PassOptions& options,
                                  const Expectation& expected, const Deadline& deadline,
                                  const std::vector<std::string>& found, Logger& logger) {
  const Bisection bisection(network, options, expected, deadline);
  const int all = static_cast<int>(pipeline_of(options).size());
  TENON_ASSIGN(const std::string what, bisection.deviation_after(all));
  if (what.empty()) return what;
  if (!expected.values.empty()) logger.warning("self-check: {}", what);
  TENON_ASSIGN(const int step, bisection.first_wrong_step());
  const std::string pass(pipeline_of(options)[step - 1]->name);
  const auto nodes = std::count_if(found.begin(), found.end(), [&](const std::string& other) {
    return other.starts_with(pass + ":");
  });
  if (nodes >= kMaxNodes) return pass;
  const auto node = bisection.guilty_node(step);
  // The pass is known, if not where.
  if (!node.ok()) return deadline.passed() ? Result<std::string>(pass) : node;
  const std::string entry = pass + ":" + *node;
  // Nodes of bodies have names of their own there: leaving out one of the same name did not help.
  return node->empty() || std::ranges::count(found, entry) > 0 ? pass : entry;
}

}  // namespace

Result<WrongPasses> disable_wrong_passes(const Graph& network, PassOptions& options,
                                         const Expectation& expected, const Deadline& deadline,
                                         Logger& logger) {
  WrongPasses found;
  // An evaluation by plain loops may take longer than all the time there is.
  const StopScope stops([&deadline] { return deadline.passed(); });
  for (int mistake = 0; mistake < kMaxMistakes; ++mistake) {
    const auto entry = first_mistake(network, options, expected, deadline, found.disabled, logger);
    if (!entry.ok() && deadline.passed()) {
      found.in_time = false;
      return found;
    }
    TENON_TRY(entry);
    if (entry->empty()) return found;
    if (*entry == kPrecisionPass) {
      logger.warning("self-check: pass {} changes results by more than rounding does", *entry);
      break;
    }
    const size_t colon = entry->find(':');
    const bool whole = colon == std::string::npos;
    const bool many = std::ranges::any_of(found.disabled, [&](const std::string& other) {
      return whole && other.starts_with(*entry + ":");
    });
    logger.warning(
        "self-check: pass {} changes results{}; it is left out {} (--disablePass={} does the same)",
        entry->substr(0, colon),
        !whole ? " at node '" + entry->substr(colon + 1) + "'"
        : many ? " at many nodes"
               : "",
        whole ? "altogether" : "there", *entry);
    options.disabled.push_back(*entry);
    found.disabled.push_back(*entry);
  }
  return internal_error("self-check: results are still wrong without {}",
                        fmt::join(found.disabled, ", "));
}

}  // namespace tenon
