#include "planted.h"

#include "check/compare.h"
#include "check/compile_checked.h"
#include "check/observed_run.h"
#include "check/sample.h"
#include "memory_logger.h"

namespace tenon {
namespace {

/// Results that differ by less do so for sums in another order.
constexpr double kNoEffect = 1e-6;

Mistake planted_mistake = nullptr;
bool was_planted = false;

/// Left out as a whole or not at all: one mistake has one place.
bool plant(Graph& graph, PassContext& context) {
  for (const std::string& entry : context.options().disabled)
    if (entry.starts_with("planted")) return false;
  if (!planted_mistake(graph)) return false;
  was_planted = true;
  return true;
}

/// Outputs of the plan as the passes leave it, or nothing.
std::vector<Tensor> results_of(CompileRequest request, bool with_mistake) {
  if (with_mistake) request.passes.extra.push_back({"planted", 1, "a mistake", plant});
  MemoryLogger logger;
  TimingCache cache;
  std::vector<Profile> profiles;
  if (!apply_profiles(*request.graph, profiles).ok()) return {};
  const auto inputs = sample_inputs(*request.graph, profiles[0]);
  const Backend backend = request.backend;
  const int threads = request.select.threads;
  request.profiles = profiles;
  const auto plan = compile(std::move(request), cache, logger);
  if (!inputs.ok() || !plan.ok()) return {};
  auto outputs = run_plan(*plan, backend, threads, *inputs);
  return outputs.ok() ? std::move(outputs).value() : std::vector<Tensor>();
}

/// The largest distance of an output that a mistake of a pass causes.
double effect_of(const Plant& p, const Graph& network) {
  planted_mistake = p.mistake;
  const auto right = results_of(planted_request(network.clone(), p.precision), false);
  const auto wrong = results_of(planted_request(network.clone(), p.precision), true);
  if (right.empty() || right.size() != wrong.size()) return 1;
  double largest = 0;
  for (size_t i = 0; i < right.size(); ++i)
    largest = std::max(largest, distance(wrong[i], right[i]));
  return largest;
}

}  // namespace

const char* Outcome::problem() const {
  if (!planted) return "was not planted";
  if (!found) return "missed";
  return named ? nullptr : "found, not named";
}

CompileRequest planted_request(std::unique_ptr<Graph> network, DataType precision) {
  CompileRequest request;
  request.graph = std::move(network);
  request.backend = cpu_backend(2);
  request.passes = pass_options_for(*request.backend.device);
  if (precision != DataType::kFloat32) request.passes.precision = precision;
  request.select.threads = 2;
  request.select.average_runs = 1;
  request.select.level = 0;
  return request;
}

Outcome outcome_of(const Plant& p, std::unique_ptr<Graph> network) {
  Outcome outcome;
  if (p.mistake != nullptr) outcome.effect = effect_of(p, *network);
  if (outcome.effect <= kNoEffect) return outcome;
  CompileRequest request = planted_request(std::move(network), p.precision);
  std::vector<Tactic> tactics;
  planted_mistake = p.mistake;
  was_planted = false;
  if (p.mistake == nullptr) {
    tactics = damaged_tactics(p.op, p.damage);
    request.backend.tactics = tactics;
  } else {
    request.passes.extra.push_back({"planted", 1, "a mistake", plant});
  }
  MemoryLogger logger;
  TimingCache cache;
  const auto plan = compile_checked(std::move(request), cache, {}, logger);
  outcome.planted = p.mistake != nullptr ? was_planted : damaged_results() > 0;
  outcome.says = plan.ok() ? plan->settings.at("self_check") : plan.error().message;
  outcome.found = outcome.says != "passed" && !outcome.says.starts_with("not done");
  outcome.named =
      outcome.found && (p.mistake == nullptr ? logger.text.find("kernel cpu.") != std::string::npos
                                             : outcome.says.find("planted") != std::string::npos);
  if (plan.ok() && plan->settings.contains("self_check_regions"))
    outcome.says += "; regions " + plan->settings.at("self_check_regions");
  outcome.says += "\n      " + logger.text;
  return outcome;
}

}  // namespace tenon
