// tenon_onnx_suite: runs the ONNX backend test cases, each in a process of its own.
//
//     tenon_onnx_suite CASES EXCLUDED TABLE [WAY] [--only=TEXT] [--min-rate=0.98]
//
// WAY is --engine, the way of users: passes, kernels, a plan, an engine; --open-extents, the same
// with symbols for the extents of inputs; --reference, where the operators are evaluated one by
// one; --gpu, --engine on a GPU; or --cover-gpu, whether a GPU would leave nothing to the host,
// which needs no GPU. CASES is the folder that generate_cases.py writes, EXCLUDED a list "pattern:
// reason" a line ('*' at the end matches the rest), TABLE the file that receives a line a case.
// Fails when fewer node cases than the rate pass, when a case outside the list fails, and when a
// case on the list passes.
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <map>

#include "suite_runner.h"

namespace tenon::onnx_suite {
namespace {

constexpr unsigned kSecondsPerCase = 120;

struct Exclusion {
  std::string pattern, reason;
  bool used = false;
};

bool matches(const std::string& pattern, const std::string& name) {
  if (!pattern.empty() && pattern.back() == '*')
    return name.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == name;
}

std::vector<Exclusion> read_exclusions(const std::string& path) {
  std::vector<Exclusion> list;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const size_t colon = line.find(": ");
    if (line.empty() || line[0] == '#' || colon == std::string::npos) continue;
    list.push_back({line.substr(0, colon), line.substr(colon + 2)});
  }
  return list;
}

/// A crash or a hang of one case must not end the run.
Outcome run_in_child(const std::string& folder, const Case& one, const Way& way) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return {false, "pipe failed"};
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    alarm(kSecondsPerCase);
    const Outcome outcome = run_case(folder, one, way);
    const std::string text = (outcome.passed ? "+" : "-") + outcome.note;
    const ssize_t written = write(ends[1], text.data(), text.size());
    _exit(written == static_cast<ssize_t>(text.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string text;
  std::array<char, 1024> buffer{};
  for (ssize_t count; (count = read(ends[0], buffer.data(), buffer.size())) > 0;)
    text.append(buffer.data(), static_cast<size_t>(count));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) return {false, fmt::format("ended by signal {}", WTERMSIG(status))};
  if (text.empty()) return {false, "the process ended without a result"};
  return {text[0] == '+', text.substr(1)};
}

struct Tally {
  int passed = 0, excluded = 0, failed = 0;

  int all() const { return passed + excluded + failed; }
  double rate() const { return all() == 0 ? 1 : static_cast<double>(passed) / all(); }
};

struct Options {
  std::string cases, excluded, table, only;
  double min_rate = 0.98;
  Way way{run_engine};
};

int run(const Options& options) {
  Result<std::vector<Case>> cases = read_cases(options.cases);
  if (!cases.ok()) {
    fmt::print(stderr, "{}\n", cases.error().message);
    return 1;
  }
  std::vector<Exclusion> exclusions = read_exclusions(options.excluded);
  std::ofstream table(options.table);
  std::map<std::string, Tally> tallies;
  int unexpected = 0;
  for (const Case& one : *cases) {
    if (one.name.find(options.only) == std::string::npos) continue;
    Exclusion* exclusion = nullptr;
    for (Exclusion& entry : exclusions)
      if (matches(entry.pattern, one.name)) exclusion = &entry;
    const std::string folder = fmt::format("{}/{}/{}", options.cases, one.set, one.name);
    const Outcome outcome = one.unreadable.empty()
                                ? run_in_child(folder, one, options.way)
                                : Outcome{false, one.unreadable + " tensors are not supported"};
    if (exclusion) exclusion->used = true;
    Tally& tally = tallies[one.set];
    ++(outcome.passed ? tally.passed : (exclusion ? tally.excluded : tally.failed));
    const char* word = outcome.passed ? "pass" : (exclusion ? "excluded" : "fail");
    const std::string& note = exclusion && !outcome.passed ? exclusion->reason : outcome.note;
    table << fmt::format("{}\t{}\t{}\t{}\t{}\n", one.set, one.name, word, one.operators, note);
    if (outcome.passed == (exclusion == nullptr)) continue;
    ++unexpected;
    fmt::print("{} {}: {}\n", outcome.passed ? "PASSES BUT IS EXCLUDED" : "FAILS", one.name,
               outcome.note);
  }
  for (const auto& [set, tally] : tallies)
    fmt::print("{}: {} pass, {} excluded, {} fail, of {}\n", set, tally.passed, tally.excluded,
               tally.failed, tally.all());
  for (const Exclusion& entry : exclusions) {
    if (entry.used || !options.only.empty()) continue;
    ++unexpected;
    fmt::print("EXCLUDED BUT THERE IS NO SUCH CASE: {}\n", entry.pattern);
  }
  const double rate = tallies["node"].rate();
  fmt::print("node cases that pass: {:.2f} % (at least {:.2f} %)\n", rate * 100,
             options.min_rate * 100);
  return unexpected == 0 && rate >= options.min_rate ? 0 : 1;
}

}  // namespace
}  // namespace tenon::onnx_suite

int main(int count, char** arguments) {
  tenon::onnx_suite::Options options;
  std::vector<std::string> plain;
  for (int i = 1; i < count; ++i) {
    const std::string word = arguments[i];
    if (word.starts_with("--only="))
      options.only = word.substr(7);
    else if (word == "--reference")
      options.way.runner = tenon::onnx_suite::run_reference;
    else if (word == "--open-extents")
      options.way.open_extents = true;
    else if (word == "--engine")
      options.way = {tenon::onnx_suite::run_engine};
    else if (word == "--gpu")
      options.way = {tenon::onnx_suite::run_gpu};
    else if (word == "--cover-gpu")
      options.way = {tenon::onnx_suite::cover_gpu};
    else if (word.starts_with("--min-rate="))
      options.min_rate = std::stod(word.substr(11));
    else
      plain.push_back(word);
  }
  if (plain.size() != 3) {
    fmt::print(
        stderr,
        "usage: tenon_onnx_suite CASES EXCLUDED TABLE [WAY] [--only=TEXT] [--min-rate=RATE]\n");
    return 2;
  }
  options.cases = plain[0];
  options.excluded = plain[1];
  options.table = plain[2];
  return tenon::onnx_suite::run(options);
}
