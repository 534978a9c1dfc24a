// tenon_setter_walk: the ONNX backend test cases as networks that are changed before they are run.
//
//     tenon_setter_walk CASES EXCLUDED [--only=TEXT]
//
// Each model is parsed into a network (network/network.h); every setter of every layer is called
// with its getter's value, then with other values and with the old ones again, and the finished
// graph must still give the case's results. CASES is the folder that generate_cases.py writes;
// EXCLUDED, which may be given several times, holds "pattern: reason" lines ('*' at the end matches
// the rest). Fails where a case outside the lists fails or ends its process.
#include <algorithm>
#include <fstream>

#include "../suite_process.h"
#include "change_layers.h"
#include "ops/table.h"

namespace tenon::onnx_suite {
namespace {

/// Layers that cannot say all that their nodes do refuse changes, with this.
bool is_refusal(const std::string& message) {
  return message.find("it cannot be changed") != std::string::npos;
}

class Errors final : public nvinfer1::ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kERROR && first.empty() && !is_refusal(message)) first = message;
  }
  std::string first;
};

Status run_changed(const ImportedModel& model, std::span<const Tensor> inputs, const Check& check) {
  // Networks know their builder; the library's would bring all kernels into a program that runs
  // none.
  nvinfer1::IBuilder builder;
  Errors errors;
  const auto reporter = std::make_shared<network::Reporter>(&errors);
  network::Network network(builder, reporter, 0);
  TENON_TRY(network.adopt(model.graph->clone()));
  set_what_is_set(network);
  if (!errors.first.empty()) return user_error("setting the current value: {}", errors.first);
  change_and_restore(network);
  set_what_is_set(network);
  TENON_ASSIGN(const auto graph, network.finished_graph());
  TENON_ASSIGN(const std::vector<Tensor> outputs, evaluate_graph(*graph, inputs));
  return check(outputs);
}

bool matches(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

std::vector<std::string> read_patterns(const std::string& path) {
  std::vector<std::string> patterns;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);)
    if (!line.starts_with('#') && line.find(": ") != std::string::npos)
      patterns.push_back(line.substr(0, line.find(": ")));
  return patterns;
}

int walk(const std::string& folder, const std::vector<std::string>& excluded,
         std::string_view only) {
  const Result<std::vector<Case>> cases = read_cases(folder);
  if (!cases.ok()) {
    fmt::print(stderr, "{}\n", cases.error().message);
    return 1;
  }
  std::vector<const Case*> chosen;
  for (const Case& one : *cases) {
    const bool is_excluded = std::ranges::any_of(
        excluded, [&](const std::string& pattern) { return matches(pattern, one.name); });
    if (!is_excluded && one.unreadable.empty() && one.name.find(only) != std::string::npos)
      chosen.push_back(&one);
  }
  CaseProcess process(folder, chosen, {run_changed});
  int failed = 0;
  for (size_t i = 0; i < chosen.size(); ++i) {
    const std::optional<Outcome> outcome = process.outcome_of(i);
    if (!outcome.has_value()) return 1;
    if (outcome->passed) continue;
    ++failed;
    fmt::print("FAILS {}: {}\n", chosen[i]->name, outcome->note);
    std::fflush(stdout);
  }
  fmt::print("{} of {} models are the same after their setters were called\n",
             chosen.size() - static_cast<size_t>(failed), chosen.size());
  return failed == 0 && !chosen.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tenon::onnx_suite

int main(int count, char** arguments) {
  std::string folder, only;
  std::vector<std::string> excluded;
  for (const std::string_view word : std::span(arguments, static_cast<size_t>(count)).subspan(1)) {
    if (word.starts_with("--only="))
      only = word.substr(7);
    else if (folder.empty())
      folder = word;
    else
      std::ranges::copy(tenon::onnx_suite::read_patterns(std::string(word)),
                        std::back_inserter(excluded));
  }
  if (!folder.empty()) return tenon::onnx_suite::walk(folder, excluded, only);
  fmt::print(stderr, "usage: tenon_setter_walk CASES EXCLUDED... [--only=TEXT]\n");
  return 2;
}
